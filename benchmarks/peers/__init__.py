"""What others offer, measured in processes of their own: each may need another Python and other libraries than ours."""

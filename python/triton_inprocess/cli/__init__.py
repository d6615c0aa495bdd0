"""The command line (extra `cli`): one module for each group of commands, put together in `app`."""

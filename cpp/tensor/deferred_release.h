// Memory that Python owns cannot be let go by a thread without the GIL: it is put aside until one with the GIL comes.
#pragma once

namespace triton_inprocess {

class DeferredRelease {
  public:
    /// While one of these lives, what its thread puts aside will be fetched by the consumer of a response that is on
    /// its way. Otherwise somebody is to be asked to fetch it, which costs more.
    class ConsumerComes {
      public:
        /// Without effect unless `comes`.
        explicit ConsumerComes(bool comes = true) noexcept : comes_(comes) { depth() += comes_ ? 1 : 0; }
        ~ConsumerComes() { depth() -= comes_ ? 1 : 0; }
        ConsumerComes(const ConsumerComes&) = delete;
        ConsumerComes& operator=(const ConsumerComes&) = delete;

      private:
        bool comes_;
    };

    static bool consumer_comes() noexcept { return depth() != 0; }

    /// What asks somebody with the GIL to fetch what was put aside; `ask` may be called on any thread.
    static void set_ask(void (*ask)()) noexcept;
    static void ask() noexcept;

  private:
    static int& depth() noexcept;
};

}  // namespace triton_inprocess

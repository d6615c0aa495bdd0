// The labels of classes: read where they are asked for, and once.
#include "core/class_labels.h"

#include "core/requests.h"

namespace triton_inprocess::testing {
namespace {

class ClassLabelsTest : public CoreTest {
  protected:
    ClassLabels::Labels ask(const std::string& model, const Ref<ClassLabels>& labels) {
        const auto server = start_server();
        ClassLabels::Labels found;
        {
            const auto request = make_request(*server, model, RequestBlock::Use::once);
            request->block()->read_labels(labels);
            const auto response = receive(submit(*request));
            found = response->outputs.at(0).labels;
            EXPECT_EQ(response->copy()->outputs.at(0).labels, found);
        }
        server->stop();
        return found;
    }

    std::uint64_t reads() { return fake().calls("TRITONSERVER_InferenceResponseOutputClassificationLabel"); }
};

TEST_F(ClassLabelsTest, AreReadOnce) {
    const auto labels = make_ref<ClassLabels>();
    const ClassLabels::Labels found = ask("labels", labels);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, (std::vector<std::string>{"first", "second", "third"}));
    const std::uint64_t before = reads();
    EXPECT_GT(before, 0U);
    EXPECT_EQ(ask("labels", labels), found);
    EXPECT_EQ(reads(), before);
}

TEST_F(ClassLabelsTest, AModelWithoutAnyHasNone) {
    const auto labels = make_ref<ClassLabels>();
    EXPECT_FALSE(ask("identity", labels));
    const std::uint64_t before = reads();
    EXPECT_FALSE(ask("identity", labels));
    EXPECT_EQ(reads(), before);
}

TEST_F(ClassLabelsTest, AreNotReadUnlessAskedFor) {
    const std::uint64_t before = reads();
    EXPECT_FALSE(ask("labels", nullptr));
    EXPECT_EQ(reads(), before);
}

}  // namespace
}  // namespace triton_inprocess::testing

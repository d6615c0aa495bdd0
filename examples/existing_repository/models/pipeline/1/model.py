"""A Triton Python model that asks another one (business logic scripting), and describes itself."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Scales the values by the model `scale`, and names the largest."""

    @staticmethod
    def auto_complete_config(auto_complete_model_config):
        """There is nothing in config.pbtxt but the backend."""
        auto_complete_model_config.add_input({"name": "VALUES", "data_type": "TYPE_FP32", "dims": [-1]})
        auto_complete_model_config.add_output({"name": "SCALED", "data_type": "TYPE_FP32", "dims": [-1]})
        auto_complete_model_config.add_output({"name": "LARGEST", "data_type": "TYPE_STRING", "dims": [1]})
        auto_complete_model_config.set_max_batch_size(8)
        return auto_complete_model_config

    def execute(self, requests):
        """Answer each request."""
        return [self.answer(request) for request in requests]

    def answer(self, request):
        """Ask `scale`, and answer."""
        asked = pb_utils.InferenceRequest(
            model_name="scale", requested_output_names=["SCALED"], inputs=request.inputs()
        ).exec()
        if asked.has_error():
            return pb_utils.InferenceResponse(error=asked.error())
        scaled = pb_utils.get_output_tensor_by_name(asked, "SCALED").as_numpy()
        names = np.array([[f"value {index}".encode()] for index in scaled.argmax(axis=1)], dtype=np.object_)
        return pb_utils.InferenceResponse([pb_utils.Tensor("SCALED", scaled), pb_utils.Tensor("LARGEST", names)])

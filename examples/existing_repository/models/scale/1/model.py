"""A Triton Python model as it is written for Triton's own python backend: each row times a factor."""

import json

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Multiplies by the parameter `factor` of config.pbtxt."""

    def initialize(self, args):
        """Read the configuration."""
        config = json.loads(args["model_config"])
        self.factor = float(config["parameters"]["factor"]["string_value"])
        output = pb_utils.get_output_config_by_name(config, "SCALED")
        self.dtype = pb_utils.triton_string_to_numpy(output["data_type"])

    def execute(self, requests):
        """Answer each request."""
        responses = []
        for request in requests:
            values = pb_utils.get_input_tensor_by_name(request, "VALUES").as_numpy()
            scaled = pb_utils.Tensor("SCALED", (values * self.factor).astype(self.dtype))
            responses.append(pb_utils.InferenceResponse(output_tensors=[scaled]))
        return responses

    def finalize(self):
        """Say that it is over."""
        pb_utils.Logger.log_info("scale is finalized")

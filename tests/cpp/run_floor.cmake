# Runs the floor program for a few inferences: cmake -DFLOOR=… -DLIBRARY=… -DFORWARDER=… -DFOLDER=… -P run_floor.cmake
file(WRITE ${FOLDER}/floor_input.txt "latency 300\nrate 32 3000\n")
execute_process(
  COMMAND ${FLOOR} ${LIBRARY} ${FORWARDER} ${FOLDER} ${FOLDER}
  INPUT_FILE ${FOLDER}/floor_input.txt
  OUTPUT_VARIABLE output
  COMMAND_ERROR_IS_FATAL ANY)
message("${output}")
if(NOT output MATCHES "\"in_flight\": 32, \"inferences\": 3000" OR output MATCHES "error")
  message(FATAL_ERROR "the floor did not do what it was told")
endif()

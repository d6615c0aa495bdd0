# Runs the floor program for a few inferences: cmake -DFLOOR=… -DLIBRARY=… -DFORWARDER=… -DFOLDER=… -P run_floor.cmake
file(WRITE ${FOLDER}/floor_input.txt 
  "latency 300\nrate 32 3000\nsubmit 600\nthreads 3 100\npercentiles 200\ncopy 5000 20\n")
execute_process(
  COMMAND ${FLOOR} ${LIBRARY} ${FORWARDER} ${FOLDER} ${FOLDER}
  INPUT_FILE ${FOLDER}/floor_input.txt
  OUTPUT_VARIABLE output
  COMMAND_ERROR_IS_FATAL ANY)
message("${output}")
foreach(done "rate\", \"setting\": 32, \"count\": 3000" "submit" "threads\", \"setting\": 3, \"count\": 100" "percentiles"
             "copy\", \"setting\": 5000")
  if(NOT output MATCHES "\"command\": \"${done}")
    message(FATAL_ERROR "the floor did not do '${done}'")
  endif()
endforeach()
if(output MATCHES "\"error\"")
  message(FATAL_ERROR "the floor reports an error")
endif()

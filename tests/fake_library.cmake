# A library of our own that stands in for another in tests.

# The target `name`, of all C++ files of the calling folder, which also has the map of what is exported.
function(triton_inprocess_fake_library name output_name)
  find_package(Threads REQUIRED)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(${name} SHARED ${sources})
  set_target_properties(${name} PROPERTIES
    OUTPUT_NAME ${output_name}
    CXX_STANDARD 17
    CXX_STANDARD_REQUIRED ON
    CXX_EXTENSIONS OFF
    UNITY_BUILD ON # the files are small: most of the time would go into their headers
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  # Its names are those of the implementations.
  set_source_files_properties(exports.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_include_directories(${name} PRIVATE
    ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../cpp ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
  if(TRITON_INPROCESS_WERROR)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
  target_link_libraries(${name} PRIVATE Threads::Threads)
  # Without the map, the templates of the C++ library would be exported, too.
  target_link_options(${name} PRIVATE "LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/exports.map")
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/exports.map)
endfunction()

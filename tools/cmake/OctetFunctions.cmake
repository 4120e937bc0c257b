# octet_use_precompiled(<target>): MLIR's headers as lib/Precompiled holds them. They serve all targets alike only if all are
# compiled alike: executables as position-independent as libraries.
function(octet_use_precompiled target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  # libstdc++ uses what it deprecates, and a precompiled header hides that the use is in a system header.
  target_compile_options(${target} PRIVATE -fPIC -Wno-deprecated-declarations)
  target_precompile_headers(${target} REUSE_FROM octet-precompiled)
endfunction()

# octet_library(<name> SOURCES <files> [DEPENDS <TableGen targets>] [LINK <Octet libraries>])
# A static library of one stage. Everything of LLVM and MLIR comes from the shared libraries (plain names),
# so that exactly one copy of MLIR is in a process.
function(octet_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  # Headers of every dialect are generated; a library may include any of them.
  add_dependencies(${name} octet-headers)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  octet_use_precompiled(${name})
  target_include_directories(${name} SYSTEM INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_property(GLOBAL APPEND PROPERTY OCTET_LIBRARIES ${name})
endfunction()

# octet_tool(<name> SOURCES <files> LINK <libraries>): plugins find Octet's C++ interfaces in the tool that loads them.
function(octet_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} MLIR LLVM)
  set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON)
  octet_use_precompiled(${name})
  set_property(GLOBAL APPEND PROPERTY OCTET_TOOLS ${name})
endfunction()

# octet_tablegen(<target> <td file> <generator> <output> ...): pairs of generator and output for one .td file.
function(octet_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(pairs ${ARGN})
  while(pairs)
    list(POP_FRONT pairs output generator)
    separate_arguments(generator)
    mlir_tablegen(${output} ${generator})
  endwhile()
  add_public_tablegen_target(${target})
  add_dependencies(octet-headers ${target})
endfunction()

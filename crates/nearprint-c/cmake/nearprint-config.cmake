# The targets nearprint::nearprint, the shared library, and nearprint::static. Each is there if its library is.
#
# The package is in PREFIX/share/cmake/nearprint. It may be moved together with its prefix.

get_filename_component(_nearprint_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(_nearprint_folders
    "${_nearprint_prefix}/lib/${CMAKE_LIBRARY_ARCHITECTURE}"
    "${_nearprint_prefix}/lib64"
    "${_nearprint_prefix}/lib")

foreach(_nearprint_folder IN LISTS _nearprint_folders)
  if(NOT TARGET nearprint::nearprint AND EXISTS "${_nearprint_folder}/libnearprint.so")
    add_library(nearprint::nearprint SHARED IMPORTED)
    set_target_properties(nearprint::nearprint PROPERTIES
        IMPORTED_LOCATION "${_nearprint_folder}/libnearprint.so"
        IMPORTED_SONAME "libnearprint.so.1"
        INTERFACE_INCLUDE_DIRECTORIES "${_nearprint_prefix}/include")
  endif()
  if(NOT TARGET nearprint::static AND EXISTS "${_nearprint_folder}/libnearprint.a")
    add_library(nearprint::static STATIC IMPORTED)
    set_target_properties(nearprint::static PROPERTIES
        IMPORTED_LOCATION "${_nearprint_folder}/libnearprint.a"
        INTERFACE_LINK_LIBRARIES "pthread;dl;m"
        # Without what a program never calls.
        INTERFACE_LINK_OPTIONS "LINKER:--gc-sections"
        INTERFACE_INCLUDE_DIRECTORIES "${_nearprint_prefix}/include")
  endif()
endforeach()

if(NOT TARGET nearprint::nearprint AND NOT TARGET nearprint::static)
  set(nearprint_FOUND FALSE)
  set(nearprint_NOT_FOUND_MESSAGE "There is no libnearprint.so or libnearprint.a in ${_nearprint_folders}.")
endif()

unset(_nearprint_prefix)
unset(_nearprint_folder)
unset(_nearprint_folders)

# A program that asks for version X.Y gets it, or a later one of the same X; before 1.0 of the same X.Y.

set(PACKAGE_VERSION "0.1.0")

string(REGEX MATCH "^([0-9]+)\\.([0-9]+)" _nearprint_series "${PACKAGE_VERSION}")
set(_nearprint_major "${CMAKE_MATCH_1}")
set(_nearprint_minor "${CMAKE_MATCH_2}")
set(PACKAGE_VERSION_COMPATIBLE FALSE)
set(PACKAGE_VERSION_EXACT FALSE)
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
if(NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION AND PACKAGE_FIND_VERSION_MAJOR EQUAL _nearprint_major)
  if(_nearprint_major GREATER 0
     OR PACKAGE_FIND_VERSION_COUNT LESS 2
     OR PACKAGE_FIND_VERSION_MINOR EQUAL _nearprint_minor)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
  endif()
endif()

unset(_nearprint_series)
unset(_nearprint_major)
unset(_nearprint_minor)

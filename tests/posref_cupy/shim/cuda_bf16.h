#pragma once
typedef Small<8, -126> __nv_bfloat16;

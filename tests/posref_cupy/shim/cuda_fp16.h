#pragma once
typedef Small<11, -14> __half;

import '../clock/overload-faults.test.ts'

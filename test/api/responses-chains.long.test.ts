import '../process/responses-chains.test.ts'

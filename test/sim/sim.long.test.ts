import './sim.test.ts'

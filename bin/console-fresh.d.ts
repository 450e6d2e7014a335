export function freshenConsole(): void
export function freshenConsoleBeside(): void

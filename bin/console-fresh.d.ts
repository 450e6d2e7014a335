export function freshenConsole(): void

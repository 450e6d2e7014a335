/** A space, a comment, the end of a command, or a part of a word. */
const TOKEN = /\s+|(?<=^|\s)#.*|(?<end>&&|\|\||[|;&])|(?<part>'[^']*'|"(?:\\.|[^"\\])*"|[^\s'"|;&]+|['"])/g

/** The commands of a text as a shell would run them, each as its words, without assignments before it. */
export function shellCommands(text: string): readonly (readonly string[])[] {
  return text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .flatMap(commandsOf)
    .map((words) => words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word))))
}

function commandsOf(line: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]]
  let isWithin = false
  for (const { groups = {} } of line.matchAll(TOKEN)) {
    const { end, part } = groups
    const words = commands.at(-1) ?? []
    if (end !== undefined) commands.push([])
    // Parts without a space between them are one word.
    if (part !== undefined) words.push(`${isWithin ? (words.pop() ?? '') : ''}${unquoted(part)}`)
    isWithin = part !== undefined
  }
  return commands.filter((words) => words.length > 0)
}

function unquoted(part: string): string {
  if (part.length === 1) return part
  if (part.startsWith("'")) return part.slice(1, -1)
  return part.startsWith('"') ? part.slice(1, -1).replaceAll(/\\(.)/g, '$1') : part
}

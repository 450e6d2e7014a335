export const SNIPPET_LANGUAGES = ['curl', 'python', 'typescript'] as const
export type SnippetLanguage = (typeof SNIPPET_LANGUAGES)[number]
export const LANGUAGE_NAMES: Readonly<Record<SnippetLanguage, string>> = {
  curl: 'curl',
  python: 'Python',
  typescript: 'TypeScript',
}

export interface ChatCall {
  /** For example `https://ai.example.com/v1`. */
  readonly base: string
  readonly key: string
  /** Fields of the request, in order: numbers, texts, lists and objects. */
  readonly body: Readonly<Record<string, unknown>>
  /** Files whose base64 the body represents by `fileMark(index)`; the code reads them. */
  readonly files?: readonly string[]
}

/** Stands in a body for the base64 of a file that the code reads. */
export function fileMark(index: number): string {
  return `\u0001${index}\u0001`
}

const MARK = /\\u0001(\d+)\\u0001/

/** A chat request as code that can be pasted into a shell or a file. */
export function chatSnippet(language: SnippetLanguage, call: ChatCall): string {
  return { curl, python, typescript }[language](call)
}

/** The body is a here-document, since an argument of a command has at most 128 kB. */
function curl({ base, key, body, files = [] }: ChatCall): string {
  const json = JSON.stringify(body, null, 2)
  const quoted = files.length === 0
  return [
    `curl ${base}/chat/completions \\`,
    `  -H ${shellText(`Authorization: Bearer ${key}`)} \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d @- <<${quoted ? "'JSON'" : 'JSON'}`,
    quoted
      ? json
      : pieces(json, files, {
          reading: (name) => `$(base64 < ${shellText(name)} | tr -d '\\n')`,
          escaped: (part) => part.replaceAll(/[\\$`]/g, String.raw`\$&`),
        }),
    'JSON',
  ].join('\n')
}

function python({ base, key, body, files = [] }: ChatCall): string {
  const reading = (name: string): string =>
    `" + base64.b64encode(open(${JSON.stringify(name)}, "rb").read()).decode() + "`
  return [
    ...(files.length === 0 ? [] : ['import base64', '']),
    'from openai import OpenAI',
    '',
    `client = OpenAI(base_url=${JSON.stringify(base)}, api_key=${JSON.stringify(key)})`,
    'answer = client.chat.completions.create(',
    ...fields(body, files, { indent: 4, mark: '=', reading }),
    ')',
    'print(answer.choices[0].message.content)',
  ].join('\n')
}

function typescript({ base, key, body, files = [] }: ChatCall): string {
  const reading = (name: string): string => `" + readFileSync(${JSON.stringify(name)}, "base64") + "`
  return [
    ...(files.length === 0 ? [] : ["import { readFileSync } from 'node:fs'"]),
    "import OpenAI from 'openai'",
    '',
    `const client = new OpenAI({ baseURL: ${JSON.stringify(base)}, apiKey: ${JSON.stringify(key)} })`,
    'const answer = await client.chat.completions.create({',
    ...fields(body, files, { indent: 2, mark: ': ', reading }),
    '})',
    'console.log(answer.choices[0].message.content)',
  ].join('\n')
}

interface FieldStyle {
  readonly indent: number
  /** The separator between a name and its value. */
  readonly mark: string
  readonly reading: (name: string) => string
}

/** JSON of numbers, texts, lists and objects is a valid literal in both languages. */
function fields(
  body: ChatCall['body'],
  files: readonly string[],
  { indent, mark, reading }: FieldStyle,
): readonly string[] {
  return Object.entries(body).flatMap(([name, value]) =>
    `${name}${mark}${pieces(JSON.stringify(value, null, indent), files, { reading, escaped: (part) => part })},`
      .split('\n')
      .map((line) => ' '.repeat(indent) + line),
  )
}

interface PieceStyle {
  /** The code that reads a file. */
  readonly reading: (name: string) => string
  readonly escaped: (part: string) => string
}

/** Splits a JSON text and replaces each mark by the code that reads its file. */
function pieces(json: string, files: readonly string[], { reading, escaped }: PieceStyle): string {
  return json
    .split(MARK)
    .map((part, index) => (index % 2 === 0 ? escaped(part) : reading(files[Number(part)] ?? '')))
    .join('')
}

function shellText(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

export const LANGUAGES = ['curl', 'python', 'typescript'] as const
export type SnippetLanguage = (typeof LANGUAGES)[number]

export interface SnippetFacts {
  /** For example `https://ai.example.com/v1`. */
  readonly base: string
  readonly key: string
  readonly model: string
}

/** A first chat request, ready to be pasted into a shell or a file. */
export function snippet(language: SnippetLanguage, { base, key, model }: SnippetFacts): string {
  switch (language) {
    case 'curl':
      return [
        `curl ${base}/chat/completions \\`,
        `  -H 'Authorization: Bearer ${key}' \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -d '{"model":"${model}","messages":[{"role":"user","content":"Hello"}]}'`,
      ].join('\n')
    case 'python':
      return [
        'from openai import OpenAI',
        '',
        `client = OpenAI(base_url="${base}", api_key="${key}")`,
        'answer = client.chat.completions.create(',
        `    model="${model}",`,
        '    messages=[{"role": "user", "content": "Hello"}],',
        ')',
        'print(answer.choices[0].message.content)',
      ].join('\n')
    case 'typescript':
      return [
        "import OpenAI from 'openai'",
        '',
        `const client = new OpenAI({ baseURL: '${base}', apiKey: '${key}' })`,
        'const answer = await client.chat.completions.create({',
        `  model: '${model}',`,
        "  messages: [{ role: 'user', content: 'Hello' }],",
        '})',
        'console.log(answer.choices[0].message.content)',
      ].join('\n')
  }
}

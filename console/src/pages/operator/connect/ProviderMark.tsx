import anthropic from '@lobehub/icons-static-svg/icons/anthropic.svg?url'
import bedrock from '@lobehub/icons-static-svg/icons/bedrock.svg?url'
import cohere from '@lobehub/icons-static-svg/icons/cohere.svg?url'
import deepseek from '@lobehub/icons-static-svg/icons/deepseek.svg?url'
import elevenlabs from '@lobehub/icons-static-svg/icons/elevenlabs.svg?url'
import fireworks from '@lobehub/icons-static-svg/icons/fireworks.svg?url'
import google from '@lobehub/icons-static-svg/icons/gemini.svg?url'
import groq from '@lobehub/icons-static-svg/icons/groq.svg?url'
import mistral from '@lobehub/icons-static-svg/icons/mistral.svg?url'
import ollama from '@lobehub/icons-static-svg/icons/ollama.svg?url'
import openai from '@lobehub/icons-static-svg/icons/openai.svg?url'
import openrouter from '@lobehub/icons-static-svg/icons/openrouter.svg?url'
import perplexity from '@lobehub/icons-static-svg/icons/perplexity.svg?url'
import replicate from '@lobehub/icons-static-svg/icons/replicate.svg?url'
import xai from '@lobehub/icons-static-svg/icons/xai.svg?url'
import css from './connect.module.css'

/** Logos by the slug of the service. */
const MARKS: ReadonlyMap<string, string> = new Map([
  ['openai', openai],
  ['anthropic', anthropic],
  ['google', google],
  ['mistral', mistral],
  ['mistralai', mistral],
  ['deepseek', deepseek],
  ['x-ai', xai],
  ['cohere', cohere],
  ['perplexity', perplexity],
  ['groq', groq],
  ['fireworks', fireworks],
  ['openrouter', openrouter],
  ['bedrock', bedrock],
  ['elevenlabs', elevenlabs],
  ['ollama', ollama],
  ['replicate', replicate],
])

/** The logo of a provider in the colour of the text, or its first letter if it has none. */
export function ProviderMark({ slug, name }: { readonly slug: string; readonly name: string }) {
  const mark = MARKS.get(slug)
  return (
    <span className={css.mark} aria-hidden>
      {mark === undefined ? (
        (name.trim()[0] ?? '?').toUpperCase()
      ) : (
        <span className={css.sign} style={{ maskImage: `url("${mark}")` }} />
      )}
    </span>
  )
}

/** A name with the logo of the provider, or of the maker of a model. */
export function Marked({ slug, name }: { readonly slug: string; readonly name: string }) {
  return (
    <span className={css.marked}>
      <ProviderMark slug={slug} name={name} />
      <span>{name}</span>
    </span>
  )
}

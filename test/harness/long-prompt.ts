/**
 * Long enough that the recorded usage (up to 14,640 input tokens) is plausible for it. Each slice of 1,024 characters
 * has as many tokens, so that a count by sample, as on a busy machine, is the whole count.
 */
export const PROMPT = 'one two '.repeat(128 * 50)

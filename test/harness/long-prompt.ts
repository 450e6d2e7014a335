/**
 * Long enough that the recorded usage (up to 14,640 input tokens) is plausible. Each slice of 1,024 characters has the
 * same number of tokens, so that counting by sample, as on a busy machine, gives the whole count.
 */
export const PROMPT = 'one two '.repeat(128 * 50)

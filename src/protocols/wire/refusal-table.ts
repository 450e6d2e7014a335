/**
 * Who is at fault for a refusal. The operator: `credentials` (the key), `account` (its money, organisation or region),
 * `endpoint` (the model is retired, or not open to the account). The model: `model`. The request: `context_length`,
 * `moderation`, `client` (any provider would refuse it), `request` (perhaps only this one does).
 */
export type Refusal =
  | 'credentials'
  | 'account'
  | 'endpoint'
  | 'model'
  | 'context_length'
  | 'moderation'
  | 'client'
  | 'request'

export interface RefusalRow {
  readonly whose: Refusal
  /** The row applies only to these statuses; absent = see `verdictOn`. */
  readonly status?: readonly number[]
  /** The row applies only to jobs that were accepted and then failed. */
  readonly of?: 'job'
  /**
   * Whole codes, types and names of an error in lower case, separated by blanks. Those of `base_resp` and `error_code`
   * are prefixed.
   */
  readonly codes?: string
  /** Parts of an error's words in lower case, separated by semicolons; `…` stands for up to 160 characters. */
  readonly words?: string
  readonly source: string
  /** When the source was read; absent = `READ`. */
  readonly date?: string
}

/** When these pages were read. */
export const READ = '2026-11-27'

/** The first row that matches applies: codes come before words, and words before most statuses. */
export const REFUSALS: readonly RefusalRow[] = [
  {
    whose: 'context_length',
    codes: 'context_length_exceeded exceed_context_size_error model_max_prompt_tokens_exceeded',
    source: 'OpenAI, llama.cpp pull 15780, GitHub Copilot',
  },
  {
    whose: 'context_length',
    codes:
      'too_many_prompt_tokens prompt_too_long tokens_too_long token_limit_exceeded context_exceed outofcontexterror',
    source: 'Writer, AIHubMix, UCloud, Volcengine, OpenRouter and ParagonAPI: their pages of error codes',
  },
  {
    whose: 'context_length',
    codes: '1261 error_code:336103',
    source: 'docs.z.ai and cloud.baidu.com: error codes',
  },
  {
    whose: 'credentials',
    codes: 'invalid_api_key invalidapikey incorrect_api_key wrong_api_key authentication_error',
    source: 'OpenAI, DashScope, Anthropic, Cerebras: error codes',
  },
  {
    whose: 'credentials',
    codes: 'api_key_invalid api_key_expired access_token_expired credentials_missing unauthenticated',
    source: 'google.rpc.ErrorInfo',
  },
  {
    whose: 'credentials',
    codes: `
      expiredtokenexception incompletesignature incompletesignatureexception invalidsignatureexception
      missingauthenticationtokenexception requestexpired unrecognizedclientexception`,
    source: 'AWS: common errors of Bedrock',
  },
  {
    whose: 'credentials',
    codes: 'base_resp:1004 base_resp:2049 error_code:110 error_code:111',
    source: 'platform.minimax.io and cloud.baidu.com: error codes',
  },
  {
    whose: 'account',
    codes: `
      insufficient_quota billing_hard_limit_reached billing_not_active account_deactivated
      organization_deactivated organization_restricted access_terminated unsupported_country_region_territory
      billing_error`,
    source: 'OpenAI, Groq and Anthropic: error codes',
  },
  {
    whose: 'account',
    codes:
      'exceeded_current_quota_error insufficient_balance insufficient_credits insufficient_user_quota budget_exceeded',
    source: 'Moonshot, DeepSeek, SambaNova, LiteLLM and AIHubMix: error codes',
  },
  {
    whose: 'account',
    codes: `
      arrearage account.arrearage accessdenied accessdenied.unpurchased access_denied accountoverdueerror`,
    source: 'help.aliyun.com/model-studio/error-code, volcengine.com/docs/82379/1299023',
  },
  {
    whose: 'account',
    codes: `
      1110 1111 1112 1113 1120 1121 base_resp:1008 base_resp:2056 error_code:6 error_code:17 error_code:19`,
    source: 'docs.z.ai, platform.minimax.io and cloud.baidu.com: error codes',
  },
  {
    whose: 'account',
    codes: 'failed_precondition service_disabled billing_disabled consumer_invalid consumer_suspended',
    source: 'google.rpc.ErrorInfo; ai.google.dev troubleshooting: region and billing',
  },
  {
    whose: 'account',
    codes: 'permission_denied permission_error accessdeniedexception notauthorized optinrequired',
    source: 'Google, YandexGPT, Anthropic and AWS: error codes',
  },
  {
    whose: 'endpoint',
    codes: `
      model_not_found model_decommissioned model_deprecated model_not_available model_terms_required
      model_permission_blocked_org model_permission_blocked_project invalid_model`,
    source: 'OpenAI, Groq and OpenRouter: error codes',
  },
  {
    whose: 'endpoint',
    codes: 'deploymentnotfound operationnotsupported unavailable_model unknown_model modelnotfound',
    source: 'Azure OpenAI and GitHub Models: error codes',
  },
  {
    whose: 'endpoint',
    codes: `
      modelnotopen invalidendpoint.closedendpoint invalidendpoint.notfound invalidendpointormodel.notfound
      invalidendpointormodel.modelidaccessdisabled model.accessdenied model_access_denied
      resourcenotfoundexception`,
    source: 'volcengine.com/docs/82379/1299023, help.aliyun.com/model-studio/error-code, AWS Bedrock',
  },
  { whose: 'endpoint', codes: '1211 1220 1221 1222', source: 'docs.z.ai: error codes' },
  {
    whose: 'model',
    codes: 'tool_use_failed json_validate_failed output_parse_failed',
    source: 'console.groq.com/docs/errors',
  },
  {
    whose: 'model',
    codes: `
      malformed_function_call malformed_tool_call malformed_tool_use malformed_model_output modelerrorexception
      modelstreamerrorexception`,
    source: 'Gemini, Cohere and AWS Bedrock: reasons of an end, errors',
  },
  {
    whose: 'moderation',
    codes: `
      content_policy_violation content_filter content_filtered image_content_policy_violation moderation_blocked
      responsibleaipolicyviolation prohibited_content image_safety`,
    source: 'OpenAI, Azure and Google: error codes',
  },
  {
    whose: 'moderation',
    codes: 'datainspectionfailed data_inspection_failed sensitive_check_error',
    source: 'help.aliyun.com/model-studio/error-code, UCloud',
  },
  {
    whose: 'moderation',
    codes: '1300 1301 base_resp:1026 base_resp:1027',
    source: 'docs.z.ai and platform.minimax.io: error codes',
  },
  {
    whose: 'client',
    codes: 'image_parse_error invalid_base64_image invalid_image_format empty_image_file',
    source: 'OpenAI: codes of errors of Responses',
  },
  {
    whose: 'request',
    codes: 'invalid_query voice_not_found invalid_voice',
    source: 'Deepgram, whose models have the voice in their name; ElevenLabs, OpenAI',
  },
  { whose: 'credentials', status: [401], source: 'HTTP: whatever it says' },
  { whose: 'account', status: [402], source: 'HTTP: whatever it says' },
  { whose: 'moderation', status: [498], source: 'docs.cohere.com/reference/errors' },
  // A refusal of max_tokens, in the words of a refusal of the prompt.
  { whose: 'request', words: 'max tokens must be; max_tokens must be', source: 'Cohere' },
  {
    whose: 'context_length',
    words: `
      context length; context_length; context-length; contextlength; context window; context_window; context
      limit; context_limit; context size; context overflow; maximum prompt length; reduce the length; reduce your
      prompt; reduce your message size`,
    source: 'OpenAI, OpenRouter, vLLM, llama.cpp, LM Studio, DS4, MiniMax, xAI, Groq, Cerebras',
  },
  {
    whose: 'context_length',
    words: `
      prompt is too long; prompt too long; prompt is longer than; prompt tokens too long; input is too long; input
      too long; input length and max_tokens; prompt exceeds max length; range of input length; maximum input
      length; maximum model length; input length … exceeds`,
    source: 'Anthropic, Bedrock, Ollama, DashScope, Z.ai, SGLang, vLLM, Baidu',
  },
  {
    whose: 'context_length',
    words: `
      too many tokens; too many input tokens; too many prompt tokens; model token limit; token limit exceeded;
      tokens limit exceeded; input tokens exceed; input token limit; input token count … exceed; input token count
      … only supports; input token count … supports up to; prompt token count … exceed; prompt contains … too
      large; number of input tokens … exceed; number of input tokens must be no more than; exceed model limit;
      inputs tokens + max_new_tokens; inputs must have less than; maximum allowed number of input tokens`,
    source: 'Cohere, Kimi, AWS, Gemini, GitHub Copilot, Mistral, AI21, TGI, YandexGPT, Snowflake',
  },
  {
    whose: 'context_length',
    words: `
      exceed max message tokens; total message size … exceeds limit; max_seq_len; maximum sequence length; input must
      have less than; malformed input request … expected maxlength; token length is too long; input text is too
      long; context is too long; context too long; conversation is too long; input is too large; input is longer
      than; prompt exceeds the limit; prompt length … exceeds; length of the input exceeds; input exceeds maximum
      length; total number of tokens … exceed; total tokens … exceed; number of tokens in the prompt … exceed; model s
      token limit; max_prompt_tokens`,
    source: 'Volcengine, Moonshot, SiliconFlow, Text Embeddings Inference, Bedrock, and what gateways make of it',
  },
  {
    whose: 'context_length',
    status: [413],
    words: 'entity too large; payload too large; content too large; input too large; request too large',
    source: 'RFC 9110 and proxies',
  },
  {
    whose: 'context_length',
    words: `
      上下文长度; 输入长度超; 超出最大长度; 超过最大长度; 长度超限; prompt 超长; контекст модели; размер контекста; длину контекста; длина
      контекста; 输入内容过长; 输入过长; максимальное число токенов; превышено количество токенов; превышает максимальное количество токенов`,
    source: 'Baidu, Zhipu, SiliconFlow; GigaChat, ParagonAPI',
  },
  {
    whose: 'credentials',
    words: `
      invalid api key; invalid api-key; invalid x-api-key; incorrect api key; api key not valid;
      api key is not valid; api key is invalid; api key invalid; api key appears to be invalid; api key is disabled; api key does not
      exist; invalid api token; invalid access token; token has expired; token expired; token is expired; expired
      token; unauthorized; api key expired; api key has expired; api key has
      been; api key was reported as leaked; api key not found; no api key provided; api_key is invalid; apikey is
      invalid`,
    source: 'OpenAI, Google, DashScope, Anthropic, Deepgram, Mistral: messages',
  },
  {
    whose: 'credentials',
    words: `
      authentication fail; authentication error; authentication token; authentication credential; authentication
      parameter; invalid authentication; security token included in the request; signature we calculated`,
    source: 'DeepSeek, Google, Z.ai, Moonshot, AWS: messages',
  },
  {
    whose: 'account',
    status: [429],
    words: `
      used all available credits; monthly spending limit; plan does not include; account is in arrears`,
    source: 'xAI and Z.ai, which say it with 429',
  },
  {
    whose: 'account',
    words: `
      credit balance; insufficient balance; insufficient account balance; balance is insufficient; balance is too
      low; balance not enough; not enough balance; insufficient credit; insufficient funds; insufficient quota;
      enough credit; remaining credit; out of credits; top up; quota exceeded; exceeded your quota; budget has been
      exceeded; subscription has expired; run out of credit; any credits; available credits; credit limit; spending
      limit; payment required; payment method; exceeded your current quota; api usage limit; specified usage
      limit; reached your usage limit; overdue; in arrears; good standing; recharge; недостаточно средств;
      недостаточно токенов; 余额不足; 欠费; 额度不足`,
    source: 'Anthropic, DeepSeek, Fireworks, Together, xAI, OpenAI, DashScope, Volcengine, Z.ai, GigaChat: messages',
  },
  {
    whose: 'account',
    words: `
      billing hard limit; billing is not; billing is disabled; billing to be enabled; enable billing; requires billing; billing
      account; plans & billing; billing limit; organization has been; organization is disabled; organization is
      not allowed; organization must be verified; account has been deactivated; account is deactivated; account is
      not active; account is inactive; account has been suspended; account is suspended; account suspended;
      account has been locked; account has been banned; account is banned; account has been disabled`,
    source: 'OpenAI, Anthropic, Groq, Google, Z.ai, Fireworks: messages',
  },
  {
    whose: 'account',
    words: `
      user location is not supported; country, region, or territory not supported; not available in your region;
      not available in your country; not supported in your region; region is not supported; unsupported region;
      has not been used in project; permission denied; permission_denied; does not have permission; not authorized
      to; is not eligible; accounts are denied access; access to this model from your account; model use case
      details have not been submitted`,
    source: 'Google, OpenAI, Anthropic, YandexGPT, AWS: messages',
  },
  {
    whose: 'request',
    words: `
      no endpoints found that support; no endpoints found that can handle; no longer supports; for this model is not;
      with this model is not; by this model is not; item with id … not found; previous
      response … not found`,
    source: 'OpenRouter and OpenAI, which say it with 404; what the client asks of a model that serves others',
  },
  {
    whose: 'endpoint',
    words: `
      model … does not exist; model not exist; model … not found; unsupported model:; requested model is not
      supported; model … been discontinued; model … been shut down; model … been removed; access to this model; have
      access to model; модель не найдена; model … not deployed; model … is not available; model … no
      longer; model … decommissioned; model … been deprecated; model … is deprecated; model … been retired; model
      … end of its life; model … end of life; model … taken offline; no such model; unknown model; invalid model
      name; invalid model id; model identifier is invalid; does not work with the specified model; on-demand
      throughput isn; on-demand throughput is not; operation not allowed; has not activated the model; don't have
      access to the model; do not have access to the model; project does not have access; no access to model;
      access to model … denied; no allowed providers; no endpoints found; no available channel; deployment … does
      not exist`,
    source:
      'OpenAI, Groq, Anthropic, Azure, AWS, Vertex AI, Mistral, Volcengine, YandexGPT, OpenRouter, One API: messages',
  },
  {
    whose: 'moderation',
    words: `
      content filter; content_filter; contentfilter; content policy; content_policy; content management policy;
      usage policy; usage policies; moderation; safety system; safety policies; responsible ai; responsibleai;
      content exists risk; inappropriate content; sensitive content; sensitive word; sensitivecontentdetected;
      riskdetection; prohibited_content; prohibited content; blocked by policy; flagged as; was flagged; был
      отфильтрован; 敏感内容; 敏感词; 敏感信息; 内容违规; 违规内容`,
    source: 'OpenAI, Azure, OpenRouter, DeepSeek, DashScope, Z.ai, Volcengine, Google, ParagonAPI: messages',
  },
  {
    whose: 'moderation',
    of: 'job',
    words: 'nsfw; flagged; sensitive; prohibited; inappropriate; safety; violat',
    source: 'Replicate, OpenAI and Veo: failed jobs',
  },
  {
    whose: 'model',
    words: `
      failed to call a function; failed to generate json; failed to validate json; model generated output that
      could not be parsed; malformed function call; tool call validation failed`,
    source: 'console.groq.com/docs/errors',
  },
  {
    whose: 'client',
    words: `
      could not process image; tool_use ids were found without tool_result; must be a response to a preced`,
    source: 'Anthropic and OpenAI: messages',
  },
  { whose: 'account', status: [403], source: 'HTTP' },
  { whose: 'endpoint', status: [404, 405, 410], source: 'HTTP' },
]

/** The status that a name means, for an error inside a 200 without another status. */
export const NAMED_STATUSES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    400: 'invalid_request_error invalid_prompt invalid_argument validationexception bad_request base_resp:2013',
    403: 'permission_denied permission_error accessdeniedexception',
    404: 'not_found_error not_found',
    408: 'modeltimeoutexception',
    413: 'request_too_large',
    429: 'rate_limit_error rate_limit_exceeded resource_exhausted throttlingexception servicequotaexceededexception',
    500: 'api_error server_error internal_error internalserverexception internal',
    503: 'modelnotreadyexception serviceunavailableexception unavailable',
    504: 'timeout_error deadline_exceeded',
    529: 'overloaded_error',
  }).flatMap(([status, names]) => names.split(' ').map((name) => [name, Number(status)] as const)),
)

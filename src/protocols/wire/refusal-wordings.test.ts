import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseErrorBody } from './error-body.ts'
import type { Refusal } from './refusal-table.ts'
import { eventFailure, upstreamFailure } from './upstream-error.ts'

const text = (message: string): unknown => ({ error: { message } })
const coded = (code: string | number, message = 'Refused'): unknown => ({ error: { code, message } })
const typed = (type: string, message = 'Refused'): unknown => ({ error: { type, message } })
const body = (raw: string): unknown => parseErrorBody(Buffer.from(raw))

type Wording = readonly [source: string, status: number, body: unknown]

const TOO_LONG: readonly Wording[] = [
  [
    'OpenAI',
    400,
    coded(
      'context_length_exceeded',
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens.",
    ),
  ],
  ['OpenAI', 400, text('Your input exceeds the context window of this model. Please adjust your input and try again.')],
  ['Anthropic', 400, text('prompt is too long: 213462 tokens > 200000 maximum')],
  ['Anthropic', 400, text('input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000')],
  ['Gemini', 400, text('The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).')],
  [
    'Vertex AI',
    400,
    text('Unable to submit request because the input token count is 40000 but the model only supports up to 32768.'),
  ],
  [
    'xAI',
    400,
    {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    },
  ],
  ['Groq', 400, text('Please reduce the length of the messages or completion.')],
  [
    'Groq',
    413,
    text(
      'Request too large for model `m` in organization `org_1` on tokens per minute (TPM): Limit 6000, Requested 7012, please reduce your message size and try again.',
    ),
  ],
  [
    'Cerebras',
    400,
    text('Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000'),
  ],
  ['Cerebras', 413, undefined],
  ['a proxy', 413, body('<html><head><title>413 Request Entity Too Large</title></head></html>')],
  [
    'OpenRouter',
    400,
    text("This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens"),
  ],
  [
    'OpenRouter',
    400,
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: '{"error":{"message":"x","code":"context_length_exceeded"}}' },
      },
    },
  ],
  [
    'llama.cpp',
    500,
    typed('exceed_context_size_error', 'the request exceeds the available context size, try increasing it'),
  ],
  [
    'llama.cpp',
    400,
    text('request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it'),
  ],
  ['LM Studio', 500, text('The number of tokens to keep from the initial prompt is greater than the context length.')],
  ['Ollama', 500, { error: 'prompt too long; exceeded max context length by 4 tokens' }],
  [
    'GitHub Copilot',
    400,
    {
      error: {
        code: 'model_max_prompt_tokens_exceeded',
        message: 'prompt token count of 131500 exceeds the limit of 128000',
      },
    },
  ],
  ['GitHub Copilot', 400, text('prompt token count of 131500 exceeds the limit of 128000')],
  [
    'MiniMax',
    400,
    { base_resp: { status_code: 2013, status_msg: 'invalid params, context window exceeds limit (2013)' } },
  ],
  [
    'Kimi',
    400,
    typed(
      'invalid_request_error',
      'Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)',
    ),
  ],
  [
    'Mistral',
    400,
    {
      object: 'error',
      message: 'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      code: '3051',
    },
  ],
  [
    'vLLM',
    400,
    {
      object: 'error',
      message: 'The decoder prompt (length 9000) is longer than the maximum model length of 8192.',
      code: 400,
    },
  ],
  ['SGLang', 400, text('Input length (9000 tokens) exceeds the maximum allowed length (8192 tokens).')],
  [
    'TGI',
    422,
    {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000 `inputs` tokens and 1000 `max_new_tokens`',
      error_type: 'validation',
    },
  ],
  ['Together', 422, text('Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8200')],
  ['TGI', 422, { error: 'Input validation error: `inputs` must have less than 4096 tokens. Given: 5000' }],
  ['DS4', 400, text('Prompt has 5,000 tokens, but the configured context size is 4,096 tokens')],
  ['AI21', 422, { detail: 'Request prompt tokens (300000) exceed model limit (262144)' }],
  ['Bedrock', 400, { message: 'Input is too long for requested model.' }],
  ['Bedrock', 400, { message: 'Input Tokens Exceeded: Number of input tokens 230001 exceeds maximum length 200000' }],
  ['DashScope', 400, { code: 'InvalidParameter', message: 'Range of input length should be [1, 30720]' }],
  ['Z.ai', 400, coded('1261', 'Prompt exceeds max length')],
  ['Cohere', 400, { message: 'too many tokens: total number of tokens in the prompt cannot exceed 128000' }],
  [
    'Writer',
    400,
    {
      errors: [{ message: 'The request was refused' }],
      error: { type: 'too_many_prompt_tokens', message: 'x', code: 400 },
    },
  ],
  [
    'SambaNova',
    400,
    text(
      'The maximum context length of DeepSeek-V3-0324 is 32768. However, answering your request will take 39732 tokens.',
    ),
  ],
  ['Fireworks', 400, text('The prompt is too long: 140000, model maximum context length: 131072')],
  [
    'DeepSeek',
    400,
    text(
      "This model's maximum context length is 65536 tokens. However, you requested 66000 tokens (58000 in the messages, 8000 in the completion).",
    ),
  ],
  ['AIHubMix', 400, coded('prompt_too_long', 'prompt is too long')],
  ['UCloud', 400, coded('tokens_too_long', 'Prompt tokens too long')],
  ['Baidu', 400, { error_code: 336103, error_msg: 'Prompt too long' }],
  [
    'YandexGPT',
    400,
    {
      error: {
        grpcCode: 3,
        httpCode: 400,
        message: 'InvalidArgument: number of input tokens must be no more than 7400, got 8041',
      },
    },
  ],
  [
    'ParagonAPI',
    400,
    { error: { message: 'Количество запрашиваемых токенов превышает контекст модели.', code: 'context_exceed' } },
  ],
  ['GigaChat', 422, { status: 422, message: 'Превышено количество токенов: 131072' }],
  [
    'SiliconFlow',
    400,
    { code: 20_015, message: 'length of prompt_tokens (40000) must be less than max_seq_len (32768).' },
  ],
  ['SiliconFlow', 413, { code: 20_042, message: 'input must have less than 512 tokens' }],
  ['Volcengine', 400, coded('OutofContextError', 'Refused')],
  ['Volcengine', 400, coded('InvalidParameter', 'Total tokens of image and text exceed max message tokens.')],
  ['Moonshot', 400, typed('invalid_request_error', 'total message size 500000 exceeds limit 400000')],
  ['Bedrock', 400, { message: 'Malformed input request: expected maxLength: 50000, actual: 60000' }],
  ['a proxy', 413, body('Request Entity Too Large')],
  ['a gateway', 400, text('The total number of tokens exceeds the maximum of 32768')],
  ['a gateway', 400, text("This request exceeds the model's token limit")],
  ['text', 400, body('context window exceeded')],
]

const CREDENTIALS: readonly Wording[] = [
  ['OpenAI', 401, coded('invalid_api_key', 'Incorrect API key provided: sk-***')],
  ['OpenAI', 400, coded('invalid_api_key')],
  [
    'Google',
    400,
    {
      error: {
        code: 400,
        message: 'API key not valid. Please pass a valid API key.',
        status: 'INVALID_ARGUMENT',
        details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
      },
    },
  ],
  ['Google', 400, text('API key expired. Please renew the API key.')],
  ['Google', 403, text('Your API key was reported as leaked. Please use another API key.')],
  ['DashScope', 400, { code: 'InvalidApiKey', message: 'Invalid API-key provided.' }],
  ['Anthropic', 401, { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } }],
  ['MiniMax', 200, { base_resp: { status_code: 2049, status_msg: 'invalid api key' } }],
  ['AWS', 400, { message: 'The security token included in the request is invalid.' }],
  ['anyone', 400, text('Token has expired')],
  ['anyone', 401, undefined],
]

const ACCOUNT: readonly Wording[] = [
  ['OpenAI', 400, coded('billing_hard_limit_reached', 'Billing hard limit has been reached')],
  [
    'OpenAI',
    429,
    coded('insufficient_quota', 'You exceeded your current quota, please check your plan and billing details.'),
  ],
  ['OpenAI', 403, coded('unsupported_country_region_territory', 'Country, region, or territory not supported')],
  ['OpenAI', 400, coded('account_deactivated')],
  ['OpenAI', 403, coded('organization_deactivated')],
  ['OpenAI', 403, text('Your organization must be verified to use the model `gpt-image-1`.')],
  [
    'Google',
    400,
    { error: { code: 400, message: 'User location is not supported for the API use.', status: 'FAILED_PRECONDITION' } },
  ],
  [
    'Google',
    403,
    {
      error: {
        code: 403,
        message: 'Generative Language API has not been used in project 1 before or it is disabled.',
        status: 'PERMISSION_DENIED',
        details: [{ reason: 'SERVICE_DISABLED' }],
      },
    },
  ],
  [
    'Vertex AI',
    403,
    { error: { code: 403, message: 'This API method requires billing to be enabled.', status: 'PERMISSION_DENIED' } },
  ],
  [
    'Anthropic',
    400,
    typed(
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.',
    ),
  ],
  ['Anthropic', 400, typed('invalid_request_error', 'This organization has been disabled.')],
  [
    'LiteLLM',
    400,
    text("AnthropicException - Error code: 400 - {'error': {'message': 'Your credit balance is too low'}}"),
  ],
  ['a gateway', 400, text('Upstream error: "Your credit balance is too low to access the API"')],
  ['Anthropic', 400, typed('invalid_request_error', 'You have reached your specified API usage limits.')],
  [
    'DashScope',
    400,
    { code: 'Arrearage', message: 'Access denied, please make sure your account is in good standing.' },
  ],
  ['DashScope', 403, { code: 'AccessDenied.Unpurchased', message: 'Access to model denied.' }],
  ['Groq', 400, coded('organization_restricted', 'Organization has been restricted. Please reach out to support.')],
  ['DeepSeek', 402, text('Insufficient Balance')],
  ['DeepSeek', 400, text('Insufficient Balance')],
  [
    'Moonshot',
    429,
    typed('exceeded_current_quota_error', 'Your account is suspended, please check your plan and billing details'),
  ],
  [
    'xAI',
    403,
    {
      code: 'The caller does not have permission to execute the specified operation',
      error: "Your newly created team doesn't have any credits yet.",
    },
  ],
  ['xAI', 429, body('Your team 1 has either used all available credits or reached its monthly spending limit.')],
  [
    'OpenRouter',
    402,
    coded(402, 'This request requires more credits, or fewer max_tokens. Prompt tokens limit exceeded: 23452 > 9999'),
  ],
  ['Fireworks', 412, { error: 'Account a is suspended, possibly due to reaching the monthly spending limit' }],
  ['Z.ai', 429, coded('1113', 'Insufficient balance or no resource package. Please recharge.')],
  ['MiniMax', 200, { base_resp: { status_code: 1008, status_msg: 'insufficient balance' } }],
  ['Volcengine', 403, coded('AccountOverdueError', 'The request failed because your account has an overdue balance.')],
  ['GigaChat', 402, { status: 402, message: 'Payment Required' }],
  ['YandexGPT', 403, { error: { grpcCode: 7, httpCode: 403, message: 'Permission denied' } }],
  ['YandexGPT', 400, { code: 7, message: 'Permission denied', details: [] }],
  [
    'AWS',
    403,
    { __type: 'AccessDeniedException', message: "You don't have access to the model with the specified model ID." },
  ],
  ['Baidu', 200, { error_code: 17, error_msg: 'Open api daily request limit reached' }],
  [
    'LiteLLM',
    400,
    { error: { message: 'Budget has been exceeded! Current cost: 2', type: 'budget_exceeded', code: '400' } },
  ],
  ['a gateway', 400, text('Your account does not have enough credits. Please top up')],
  ['anyone', 402, undefined],
  ['anyone', 403, undefined],
]

const ENDPOINT: readonly Wording[] = [
  ['OpenAI', 400, coded('model_not_found', 'The model `m` does not exist or you do not have access to it.')],
  ['OpenAI', 400, text('The model `gpt-4.5-preview` does not exist')],
  ['Groq', 400, coded('model_decommissioned', 'The model `m` has been decommissioned and is no longer supported.')],
  ['Groq', 400, text('The model `mixtral-8x7b-32768` has been decommissioned')],
  [
    'Azure',
    400,
    coded('OperationNotSupported', 'The chatCompletion operation does not work with the specified model, m.'),
  ],
  ['Azure', 404, coded('DeploymentNotFound', 'The API deployment for this resource does not exist.')],
  [
    'AWS',
    400,
    { message: 'Invocation of model ID m with on-demand throughput isn’t supported. Retry with an inference profile.' },
  ],
  ['AWS', 400, { message: 'The provided model identifier is invalid.' }],
  ['AWS', 404, { __type: 'ResourceNotFoundException', message: 'This model version has reached the end of its life.' }],
  [
    'Vertex AI',
    400,
    text('Publisher Model `projects/p/locations/l/m` was not found or your project does not have access to it.'),
  ],
  ['DeepSeek', 400, typed('invalid_request_error', 'Model Not Exist')],
  ['Mistral', 400, { object: 'error', type: 'invalid_model', message: 'Invalid model: m', code: '1500' }],
  ['Z.ai', 400, coded('1211', 'Model does not exist, please check the model code')],
  ['Volcengine', 404, coded('ModelNotOpen', 'Your account 1 has not activated the model m.')],
  [
    'Volcengine',
    400,
    coded('InvalidEndpoint.ClosedEndpoint', 'The request targeted an endpoint that is currently closed'),
  ],
  ['OpenRouter', 404, coded(404, 'No allowed providers are available for the selected model.')],
  ['YandexGPT', 400, text('Access to model gpt://f/yandexgpt denied')],
  ['anyone', 404, undefined],
  ['anyone', 410, undefined],
]

const MODEL: readonly Wording[] = [
  [
    'Groq',
    400,
    { error: { code: 'tool_use_failed', message: 'Failed to call a function.', failed_generation: '<function' } },
  ],
  ['Groq', 400, coded('json_validate_failed', 'Failed to generate JSON.')],
  ['Groq', 400, coded('output_parse_failed', 'Parsing failed.')],
  ['AWS', 424, { __type: 'ModelErrorException', message: 'x' }],
]

const MODERATION: readonly Wording[] = [
  ['OpenAI', 400, coded('content_policy_violation', 'Your request was rejected as a result of our safety system.')],
  ['Azure', 400, { error: { code: 'x', message: 'y', innererror: { code: 'ResponsibleAIPolicyViolation' } } }],
  [
    'Azure',
    400,
    coded(
      'content_filter',
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    ),
  ],
  ['OpenRouter', 403, coded(403, 'm requires moderation on OpenAI. Your input was flagged for "violence".')],
  ['DashScope', 400, { code: 'DataInspectionFailed', message: 'Input data may contain inappropriate content.' }],
  ['Z.ai', 400, coded('1301', 'System detected potentially unsafe or sensitive content')],
  ['DeepSeek', 400, text('Content Exists Risk')],
  ['Google', 400, { error: { code: 400, status: 'PROHIBITED_CONTENT', message: 'x' } }],
  ['MiniMax', 200, { base_resp: { status_code: 1026, status_msg: 'input new_sensitive' } }],
  ['MiniMax', 200, { base_resp: { status_code: 1027, status_msg: 'output new_sensitive' } }],
  ['Volcengine', 400, coded('InputTextRiskDetection', 'The input text includes sensitive content')],
  ['Volcengine', 400, coded('InputImageSensitiveContentDetected.PrivacyInformation', 'x')],
  ['Cohere', 498, { message: 'a word is denied' }],
]

/** Faults that a client may correct, and faults that no table knows: another provider is asked once. */
const REQUEST: readonly Wording[] = [
  [
    'OpenAI',
    400,
    { error: { message: "Invalid value for 'model': expected a string", param: 'model', code: 'invalid_value' } },
  ],
  ['OpenAI', 400, text("Unknown parameter: 'messages[0].insufficient_quota'.")],
  ['OpenAI', 400, text("Unsupported value: 'temperature' does not support 0.2 with this model.")],
  ['OpenAI', 404, text("Item with id 'rs_1' not found.")],
  ['Deepgram', 400, { err_code: 'INVALID_QUERY', err_msg: 'No such model' }],
  ['Cohere', 400, { message: 'too many tokens: max tokens must be less than or equal to 4096' }],
  [
    'Mistral',
    422,
    {
      object: 'error',
      message: {
        detail: [{ loc: ['body', 'seed'], msg: 'Extra inputs are not permitted', input: 'insufficient balance' }],
      },
    },
  ],
  ['OpenRouter', 404, coded(404, 'No endpoints found that support image input')],
  ['OpenAI', 400, text('The model `m` no longer supports temperature.')],
  ['a gateway', 400, text('Image input for this model is not available')],
  ['a gateway', 400, text('模型名称大小写敏感')],
  ['anyone', 400, undefined],
  ['anyone', 422, text('No')],
  ['anyone', 415, undefined],
]

const NEITHER: readonly Wording[] = [
  [
    'Google',
    429,
    {
      error: {
        code: 429,
        message: 'You exceeded your current quota, please check your plan and billing details.',
        status: 'RESOURCE_EXHAUSTED',
      },
    },
  ],
  ['Anthropic', 429, text('too many tokens in a minute')],
  ['anyone', 500, text('The moderation service is down')],
  ['anyone', 503, undefined],
  ['anyone', 408, undefined],
]

const TABLES: readonly (readonly [Refusal | null, readonly Wording[]])[] = [
  ['context_length', TOO_LONG],
  ['credentials', CREDENTIALS],
  ['account', ACCOUNT],
  ['endpoint', ENDPOINT],
  ['model', MODEL],
  ['moderation', MODERATION],
  ['request', REQUEST],
  [null, NEITHER],
]

const CLIENTS: ReadonlySet<Refusal | null> = new Set(['context_length', 'moderation', 'request'])

for (const [refusal, wordings] of TABLES) {
  describe(`${refusal ?? 'no refusal'}: known wordings of providers`, () => {
    for (const [source, status, said] of wordings) {
      test(`${source}, ${status}: ${JSON.stringify(said)?.slice(0, 90)}`, () => {
        // An error inside a 200 is read as an event.
        const found = status === 200 ? eventFailure(said) : upstreamFailure(status, said, {}, 0)
        assert.equal(found.refusal, refusal)
        if (!CLIENTS.has(refusal)) assert.equal(found.publicMessage, null, 'it is not for the client to read')
        if (refusal === 'context_length' || refusal === 'moderation') assert.equal(found.status, 400)
      })
    }
  })
}

test('an error inside a 200 is judged as the same error with a status', () => {
  for (const [refusal, wordings] of TABLES.slice(0, 6))
    for (const [source, status, said] of wordings) {
      // Statuses by themselves, and rows for one status, are not tested here.
      if (said === undefined || [429, 498, 413, 404].includes(status)) continue
      const found = eventFailure(said)
      if (status !== 401 && status !== 402 && status !== 403)
        assert.equal(found.refusal, refusal, `${source}: ${JSON.stringify(said)}`)
      assert.equal(found.reason, 'error_event')
    }
})

import type { Label } from './text.ts'

type ErrorRow = {
  readonly status: number
  /** When a client gets this error, for docs/errors.md. */
  readonly when: string
} & (
  | {
      /** Its name in the console. */
      readonly label: Label
    }
  | {
      /** Its type on the wire, which differs from its name. */
      readonly errorType: string
    }
)
type Errors = Readonly<Record<string, ErrorRow>>

const REQUEST = {
  missing_model: {
    status: 400,
    when: 'the request names no model and the account has no default model',
    label: { en: 'No model was given', ru: 'Не указана модель' },
  },
  missing_messages: {
    status: 400,
    when: 'neither `messages` nor `prompt` is given, or both are empty',
    label: { en: 'No messages were given', ru: 'Не переданы сообщения' },
  },
  missing_prompt: {
    status: 400,
    when: 'a request for an image, a video or a legacy completion has no prompt',
    label: { en: 'No prompt was given', ru: 'Не передан запрос к модели' },
  },
  missing_input: {
    status: 400,
    when: 'there is nothing to embed, speak, transcribe or answer',
    label: { en: 'No input was given', ru: 'Не переданы входные данные' },
  },
  missing_query: {
    status: 400,
    when: 'a rerank request has no query',
    label: { en: 'No query was given', ru: 'Не передан поисковый запрос' },
  },
  missing_documents: {
    status: 400,
    when: 'a rerank request has no documents',
    label: { en: 'No documents were given', ru: 'Не переданы документы' },
  },
  missing_job_id: {
    status: 400,
    when: 'the query parameter `id` of a job is absent',
    label: { en: 'No job was given', ru: 'Не указан ID задания' },
  },
  invalid_json: {
    status: 400,
    when: 'the body is not JSON, not UTF-8, not an object, or deeper and larger than its structure limits allow',
    label: { en: 'The request is not valid JSON', ru: 'Запрос не является корректным JSON' },
  },
  invalid_filter: {
    status: 400,
    when: '`filter` of a model list is not one of the allowed values; the message lists them',
    label: { en: 'The filter is not valid', ru: 'Неверный фильтр' },
  },
  invalid_message_format: {
    status: 400,
    when: 'a message, its content or its tool calls have the wrong shape; the message gives the path',
    label: { en: 'A message has the wrong format', ru: 'Неверный формат сообщения' },
  },
  invalid_message_role: {
    status: 400,
    when: 'the role of a message is not one of system, developer, user, assistant, tool',
    label: { en: 'A message has an unknown role', ru: 'Неизвестная роль сообщения' },
  },
  invalid_response_format: {
    status: 400,
    when: '`response_format` is unknown, incomplete, or not offered by the model',
    label: { en: 'The response format is not valid', ru: 'Неверный формат ответа' },
  },
  invalid_input: {
    status: 400,
    when: 'any other parameter is of the wrong type or out of its range; the message names it',
    label: { en: 'The request is not valid', ru: 'Запрос составлен неверно' },
  },
  invalid_base64: {
    status: 400,
    when: 'audio or another file given inline is not base64',
    label: { en: 'The data is not valid Base64', ru: 'Данные не являются корректным Base64' },
  },
  model_not_found: {
    status: 400,
    when: 'no active model has this id or alias',
    label: { en: 'No such model', ru: 'Такой модели нет' },
  },
  model_not_supported: {
    status: 400,
    when: 'the model does not serve this endpoint or this kind of content',
    label: { en: 'The model does not support this', ru: 'Модель это не поддерживает' },
  },
  input_tokens_exceeded: {
    status: 400,
    when: 'the input alone is too long for the model; the metadata has the counted and the allowed tokens',
    label: { en: "The input does not fit the model's context", ru: 'Запрос не помещается в контекст модели' },
  },
  token_limit_exceeded: {
    status: 400,
    when: "input and `max_tokens` together are more than the model's context",
    label: {
      en: 'More tokens requested than the model can output',
      ru: 'Запрошено больше токенов, чем может выдать модель',
    },
  },
  input_too_long: {
    status: 400,
    when: 'a text to be spoken has too many characters',
    label: { en: 'The input is too long', ru: 'Слишком длинные входные данные' },
  },
  prompt_too_long: {
    status: 400,
    when: 'an image prompt has too many characters',
    label: { en: 'The prompt is too long', ru: 'Слишком длинный запрос к модели' },
  },
  streaming_not_supported: {
    status: 400,
    when: '`stream: true` on an endpoint that has no streams',
    label: { en: 'Streaming is not available here', ru: 'Потоковый ответ здесь недоступен' },
  },
  file_upload_error: {
    status: 400,
    when: 'the file part of an upload is absent, empty, unreadable or not audio',
    label: { en: 'The file could not be uploaded', ru: 'Файл не удалось загрузить' },
  },
  job_not_completed: {
    status: 400,
    when: 'the content of a job was requested before the job is done; retry later',
    label: { en: 'The job is not finished', ru: 'Задание ещё не готово' },
  },
  item_not_found: {
    status: 404,
    when: 'an `item_reference` names no item of a kept Response of the account',
    label: { en: 'The item was not found', ru: 'Элемент не найден' },
  },
  previous_response_not_found: {
    status: 400,
    when: "the Response of `previous_response_id`, or one that it continues, was not kept (`store: true`), was removed, is past its time, has not ended, or is another account's",
    label: { en: 'Previous response not found', ru: 'Предыдущий ответ не найден' },
  },
  content_filtered: {
    status: 400,
    when: "the provider's moderation refused the input",
    label: { en: 'Blocked by a content filter', ru: 'Отклонено фильтром содержимого' },
  },
  request_timeout: {
    status: 408,
    when: 'the request did not arrive in time',
    label: { en: 'The request took too long to arrive', ru: 'Запрос передавался слишком долго' },
  },
  request_too_large: {
    status: 413,
    when: 'the body is larger than 10 MB, or than 16 kB on a route that needs no key or manages keys',
    label: { en: 'The request is too large', ru: 'Слишком большой запрос' },
  },
  unsupported_media_type: {
    status: 415,
    when: 'the body is of another type, charset or encoding than the endpoint takes',
    label: { en: 'The content type is not supported', ru: 'Тип содержимого не поддерживается' },
  },
  invalid_range: {
    status: 416,
    when: 'a `Range` header lies outside the content',
    label: { en: 'The range is not valid', ru: 'Неверный диапазон' },
  },
} as const satisfies Errors

const ACCOUNT = {
  missing_api_key: {
    status: 401,
    when: 'there is no key: neither `Authorization: Bearer` nor `x-api-key` nor `x-goog-api-key`',
    label: { en: 'No API key was given', ru: 'Не передан API-ключ' },
  },
  invalid_api_key: {
    status: 401,
    when: 'the key is not one of ours, or was deleted, or two headers name different keys',
    label: { en: 'The API key is not valid', ru: 'Неверный API-ключ' },
  },
  key_expired: {
    status: 401,
    when: "the key's `expires_at` has passed",
    label: { en: 'The key has expired', ru: 'Срок ключа истёк' },
  },
  unauthorized: {
    status: 401,
    when: 'the admin API was called without a valid token or session',
    label: { en: 'Sign in first', ru: 'Нужно войти' },
  },
  insufficient_balance: {
    status: 402,
    when: 'the account cannot cover the most that the request may cost',
    label: { en: 'The balance is too low', ru: 'Не хватает средств на балансе' },
  },
  account_deactivated: {
    status: 403,
    when: 'the operator has deactivated the account',
    label: { en: 'The account is deactivated', ru: 'Аккаунт отключён' },
  },
  key_deactivated: {
    status: 403,
    when: 'the key is switched off',
    label: { en: 'The key is disabled', ru: 'Ключ отключён' },
  },
  api_locked: {
    status: 403,
    when: 'the operator has locked API access of the account',
    label: { en: 'The API is locked for this account', ru: 'API для этого аккаунта заблокирован' },
  },
  access_denied: {
    status: 403,
    when: 'the key may not use this model, or not from this address, or is of the other kind (API key, management key), or a credential was used on the wrong plane',
    label: { en: 'Access denied', ru: 'Доступ запрещён' },
  },
  rate_limit_exceeded: {
    status: 429,
    when: 'more requests than the rate limit or a limit of the key allows, what may cost more than its hold (pictures, files, sound, tools that a provider runs), in an hour in which the account has cost the operator too much (rule 20), too many without a valid key from one address, or request bodies beyond the [share](docs/operations.md#limits-of-one-address) of an address or account; wait for `Retry-After`',
    label: { en: 'Too many requests', ru: 'Слишком много запросов' },
  },
  limit_exceeded: {
    status: 429,
    when: 'the spending limit of the key, or of its account, cannot cover the request; the message says which, and the metadata when it resets',
    label: { en: 'The spending limit is reached', ru: 'Лимит расхода исчерпан' },
  },
} as const satisfies Errors

const ABSENCE = {
  endpoint_not_found: {
    status: 404,
    when: 'no route has this path',
    label: { en: 'No such address', ru: 'Такого адреса нет' },
  },
  stream_not_found: {
    status: 404,
    when: "the stream to resume, or the Response, is unknown, over, not kept, or another account's",
    label: { en: 'Stream not found', ru: 'Поток не найден' },
  },
  job_not_found: {
    status: 404,
    when: "the job is unknown, expired, or another account's",
    label: { en: 'Job not found', ru: 'Такого задания нет' },
  },
  generation_not_found: {
    status: 404,
    when: 'the usage log has no such generation of this account',
    label: { en: 'Request not found', ru: 'Такого запроса нет' },
  },
  file_not_found: {
    status: 404,
    when: 'the stored file is unknown or expired',
    label: { en: 'File not found', ru: 'Файл не найден' },
  },
  model_record_not_found: {
    status: 404,
    errorType: 'model_not_found',
    when: 'the route of one model was called, and there is no such model',
  },
  no_available_provider: {
    status: 404,
    when: 'the routing preferences leave no provider; relax them or choose another model',
    label: { en: 'No provider can serve this request', ru: 'Нет провайдера для этого запроса' },
  },
  not_found: {
    status: 404,
    when: 'the admin API, or the one that manages keys, has no such record',
    label: { en: 'Not found', ru: 'Не найдено' },
  },
  method_not_allowed: {
    status: 405,
    when: 'the path exists with other methods; `Allow` lists them',
    label: { en: 'This method is not allowed here', ru: 'Метод здесь недоступен' },
  },
  conflict: {
    status: 409,
    when: 'an admin change contradicts what is stored, such as a reference used with another amount',
    label: { en: 'This conflicts with existing data', ru: 'Противоречит существующим данным' },
  },
  precondition_failed: {
    status: 412,
    when: 'a record of the admin API is not as `If-Match` or `If-None-Match` says: it has changed, or is missing, or is there already',
    label: { en: 'It has changed meanwhile', ru: 'Данные уже изменились' },
  },
  idempotency_conflict: {
    status: 409,
    when: 'a request with the same `Idempotency-Key` still runs, or was answered with what is not kept: a stream, more than 1 MiB, or more than the account has room for; `generation_id` names it',
    label: { en: 'The same request is already running', ru: 'Такой же запрос уже выполняется' },
  },
  idempotency_mismatch: {
    status: 422,
    when: 'the `Idempotency-Key` was used with another path or body',
    label: {
      en: 'The idempotency key belongs to another request',
      ru: 'Ключ идемпотентности уже использован для другого запроса',
    },
  },
} as const satisfies Errors

const SERVICE = {
  internal_error: {
    status: 500,
    when: 'a bug of ours; tell the operator the `X-Request-Id`',
    label: { en: 'Server error', ru: 'Ошибка на сервере' },
  },
  empty_response: {
    status: 502,
    when: 'every provider that was tried gave an empty answer',
    label: { en: 'The provider returned an empty answer', ru: 'Пустой ответ провайдера' },
  },
  provider_error: {
    status: 502,
    when: 'the last provider that was tried failed, or refused our account there',
    label: { en: 'Provider error', ru: 'Ошибка провайдера' },
  },
  provider_unavailable: {
    status: 503,
    when: 'all providers of the model are busy or cannot be reached; wait for `Retry-After`',
    label: { en: 'All providers are busy or unreachable', ru: 'Все провайдеры заняты или недоступны' },
  },
  service_unavailable: {
    status: 503,
    when: 'the service is overloaded, shutting down, or its store does not answer',
    label: { en: 'The service is temporarily unavailable', ru: 'Сервис временно недоступен' },
  },
  maintenance_mode: {
    status: 503,
    when: 'the operator has switched maintenance on',
    label: { en: 'The service is under maintenance', ru: 'Идут технические работы' },
  },
  provider_timeout: {
    status: 504,
    when: 'the provider did not answer in time',
    label: { en: 'The provider did not answer in time', ru: 'Провайдер не ответил вовремя' },
  },
} as const satisfies Errors

/** The tables of docs/errors.md, which `npm run docs` writes. */
export const ERROR_TABLES: Readonly<Record<string, Errors>> = {
  'The request': REQUEST,
  'Key, account and money': ACCOUNT,
  'Not found': ABSENCE,
  'The service and its providers': SERVICE,
}

/** Every error that a client may see (wire.md 7.4). No other code names a status. */
export const ERRORS = { ...REQUEST, ...ACCOUNT, ...ABSENCE, ...SERVICE } as const

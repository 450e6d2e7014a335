import type { Label } from '../base/text.ts'

/** A whole number, from `least` to `most`. */
interface NumberField {
  readonly least: number
  readonly most: number
  readonly fallback: number
  readonly unit?: SettingUnit
  readonly label: Label
}

/** The units of settings; the console shows longer times in longer units. */
export const SETTING_UNITS = {
  seconds: { en: 'seconds', ru: 'секунд' },
  hours: { en: 'hours', ru: 'часов' },
  days: { en: 'days', ru: 'дней' },
  megabytes: { en: 'MB', ru: 'МБ' },
  rubles: { en: '₽', ru: '₽' },
  percent: { en: '%', ru: '%' },
} as const satisfies Readonly<Record<string, Label>>
type SettingUnit = keyof typeof SETTING_UNITS

/** The groups of settings, in the order in which the console shows them. */
export const SETTING_GROUPS = {
  prices: { en: 'New models and prices', ru: 'Новые модели и цены' },
  access: { en: 'Sign-up and protection', ru: 'Регистрация и защита' },
  answers: { en: 'Answers', ru: 'Ответы' },
  notices: { en: 'Notices', ru: 'Уведомления' },
  look: { en: 'Name and announcement', ru: 'Название и объявление' },
} as const satisfies Readonly<Record<string, Label>>

export type NumberFields = Readonly<Record<string, NumberField>>

/** What a text may be; empty = none. */
export type TextForm = 'text' | 'link' | 'picture' | 'colour'

interface TextField {
  /** Characters. */
  readonly most: number
  readonly form: TextForm
  readonly fallback: string
  readonly label: Label
}

export type TextFields = Readonly<Record<string, TextField>>

/** Linear, and none lets a script into a page. */
export const TEXT_FORMS: Readonly<Record<TextForm, RegExp>> = {
  text: /^/,
  link: /^(?:(?:https?:\/\/|mailto:)\S+)?$/,
  colour: /^(?:#[\da-fA-F]{6})?$/,
  picture: /^(?:data:image\/(?:svg\+xml|png|jpeg|webp);base64,[\w+/]+={0,2})?$/,
}

export type SettingRow = {
  /** Its name in a snapshot's settings. */
  readonly as: string
  readonly group: keyof typeof SETTING_GROUPS
} & (
  | { readonly kind: 'numbers'; readonly fields: NumberFields }
  | { readonly kind: 'texts'; readonly fields: TextFields }
  | {
      readonly kind: 'choice'
      readonly label: Label
      readonly options: Readonly<Record<string, Label>>
      /** null = another part of the program decides. */
      readonly fallback: string | null
    }
  | { readonly kind: 'flag'; readonly label: Label; readonly fallback: boolean }
)

const SECONDS_MAX = 86_400
const PERIOD = {
  least: 1,
  most: SECONDS_MAX,
  fallback: 60,
  unit: 'seconds',
  label: { en: 'Period', ru: 'Период' },
} as const

/**
 * A row for each live setting that needs no code of its own to read (operator.md 3), in the order in which they are
 * written. The catalogue file, the admin API, a snapshot's settings and the console's form derive from it.
 */
export const SETTINGS = {
  rate_limit: {
    as: 'rateLimit',
    group: 'access',
    kind: 'numbers',
    fields: {
      requests: {
        least: 1,
        most: 100_000,
        fallback: 300,
        label: { en: 'Requests per account', ru: 'Запросов на аккаунт' },
      },
      window: PERIOD,
    },
  },
  ip_block: {
    as: 'ipBlock',
    group: 'access',
    kind: 'numbers',
    fields: {
      failures: {
        least: 1,
        most: 100_000,
        fallback: 20,
        label: { en: 'Wrong keys before a block', ru: 'Ошибочных ключей до блокировки' },
      },
      window: PERIOD,
      duration: {
        least: 1,
        most: SECONDS_MAX,
        fallback: 600,
        unit: 'seconds',
        label: { en: 'Block for', ru: 'Блокировать на' },
      },
    },
  },
  midstream_error: {
    as: 'midstreamError',
    group: 'answers',
    kind: 'choice',
    label: { en: 'If a provider breaks off mid-answer', ru: 'Если провайдер оборвал ответ' },
    options: {
      free: { en: 'free', ru: 'бесплатно' },
      delivered: { en: 'delivered part is charged', ru: 'оплачивается полученное' },
    },
    fallback: 'free',
  },
  stream_resume: {
    as: 'streamResume',
    group: 'answers',
    kind: 'numbers',
    fields: {
      grace: {
        least: 0,
        most: 600,
        fallback: 15,
        unit: 'seconds',
        label: { en: 'Keep an interrupted stream', ru: 'Хранить прерванный поток' },
      },
      retention: {
        least: 0,
        most: SECONDS_MAX,
        fallback: 300,
        unit: 'seconds',
        label: { en: 'Keep a finished stream', ru: 'Хранить завершённый поток' },
      },
    },
  },
  kept_responses: {
    as: 'keptResponses',
    group: 'answers',
    kind: 'numbers',
    fields: {
      days: {
        least: 0,
        most: 30,
        fallback: 30,
        unit: 'days',
        label: {
          en: 'Keep Responses that ask for it (0: never)',
          ru: 'Хранить ответы Responses по просьбе (0: никогда)',
        },
      },
      megabytes: {
        least: 1,
        most: 102_400,
        fallback: 1_024,
        unit: 'megabytes',
        label: { en: 'Kept Responses of an account', ru: 'Хранимые ответы одного аккаунта' },
      },
    },
  },
  notices: {
    as: 'notices',
    group: 'notices',
    kind: 'numbers',
    fields: {
      low_balance: {
        least: 0,
        most: 1_000_000_000,
        fallback: 100,
        unit: 'rubles',
        label: { en: 'A balance is low below (0: never)', ru: 'Баланс на исходе ниже (0: никогда)' },
      },
    },
  },
  /** How often to look for models, prices and limits that the store does not have yet; a person then decides. */
  catalog_look: {
    as: 'catalogLook',
    group: 'prices',
    kind: 'numbers',
    fields: {
      hours: {
        least: 0,
        most: 720,
        fallback: 24,
        unit: 'hours',
        label: {
          en: 'How often to look for new models, prices and limits, which then wait for you (0: never)',
          ru: 'Как часто искать новые модели, цены и пределы, которые затем ждут вас (0: никогда)',
        },
      },
    },
  },
  /** How often to add models and prices of a release, and of the published lists, that the store does not have yet. */
  catalog_update: {
    as: 'catalogUpdate',
    group: 'prices',
    kind: 'numbers',
    fields: {
      hours: {
        least: 0,
        most: 720,
        fallback: 0,
        unit: 'hours',
        label: {
          en: 'How often to update the bundled catalogue by itself (0: by hand)',
          ru: 'Как часто обновлять встроенный каталог (0: вручную)',
        },
      },
      rise: {
        least: 0,
        most: 1_000,
        fallback: 10,
        unit: 'percent',
        label: { en: 'A price that rises more waits for you', ru: 'Цена, выросшая сильнее, ждёт вас' },
      },
    },
  },
  fetch_urls: {
    as: 'fetchUrls',
    group: 'answers',
    kind: 'flag',
    label: { en: 'Download files from URLs in requests', ru: 'Загружать файлы по ссылкам из запросов' },
    fallback: false,
  },
  /** Whether anybody may sign up in the console. The default depends on the store: the embedded one allows it. */
  signup: {
    as: 'signup',
    group: 'access',
    kind: 'choice',
    label: { en: 'Sign-up in the console', ru: 'Регистрация в консоли' },
    options: {
      open: { en: 'open', ru: 'открыта' },
      confirmed: { en: 'open, by a link to the e-mail', ru: 'открыта, по ссылке на почту' },
      closed: { en: 'closed', ru: 'закрыта' },
    },
    fallback: null,
  },
  /** Whose service it is, as the console shows it, to strangers too. */
  brand: {
    as: 'brand',
    group: 'look',
    kind: 'texts',
    fields: {
      name: {
        most: 40,
        form: 'text',
        fallback: 'Tollgate',
        label: { en: 'Name of the service', ru: 'Название сервиса' },
      },
      logo: { most: 20_000, form: 'picture', fallback: '', label: { en: 'Logo', ru: 'Логотип' } },
      accent: {
        most: 7,
        form: 'colour',
        fallback: '',
        label: { en: 'Colour, such as #1d4ed8', ru: 'Цвет, например #1d4ed8' },
      },
      support: {
        most: 300,
        form: 'link',
        fallback: '',
        label: { en: 'Support: a page, or mailto:…', ru: 'Поддержка: страница или mailto:…' },
      },
      offer: { most: 300, form: 'link', fallback: '', label: { en: 'Terms of service', ru: 'Оферта' } },
      privacy: {
        most: 300,
        form: 'link',
        fallback: '',
        label: { en: 'Privacy policy', ru: 'Политика конфиденциальности' },
      },
    },
  },
  /** Whether `/status` says to anybody how the models are. */
  status_page: {
    as: 'statusPage',
    group: 'look',
    kind: 'flag',
    label: { en: 'Public status page at /status', ru: 'Открытая страница состояния по адресу /status' },
    fallback: false,
  },
  /** A message above every page of the console. */
  announcement: {
    as: 'announcement',
    group: 'look',
    kind: 'texts',
    fields: {
      text: { most: 300, form: 'text', fallback: '', label: { en: 'Announcement', ru: 'Объявление' } },
      link: { most: 300, form: 'link', fallback: '', label: { en: 'Its page', ru: 'Его страница' } },
    },
  },
} as const satisfies Readonly<Record<string, SettingRow>>

/** Default timeouts of a provider in seconds; the first byte of an answer without streaming may take 300. */
export const PROVIDER_TIMEOUTS = { connect: 3, first_byte: 60, progress: 60, total: 1_800 } as const

type Rows = typeof SETTINGS
export type SettingName = keyof Rows
/** The given value of a setting. */
export type SettingValue<N extends SettingName> = Rows[N] extends { readonly fields: infer F; readonly kind: infer K }
  ? { readonly [P in keyof F]: K extends 'texts' ? string : number }
  : Rows[N] extends { readonly options: infer O }
    ? keyof O & string
    : boolean
/** Given settings, by their names in the catalogue file. */
export type GivenSettings = { readonly [N in SettingName]?: SettingValue<N> }
/** Settings in force, by their names in a snapshot. */
export type PlainSettings = {
  readonly [N in SettingName as Rows[N]['as']]:
    | SettingValue<N>
    | (Rows[N] extends { readonly fallback: null } ? null : never)
}

// These are exactly the names and rows of the table.
export const SETTING_ROWS = Object.entries(SETTINGS) as unknown as readonly (readonly [
  SettingName,
  SettingRow & { readonly as: keyof PlainSettings },
])[]

/** The given settings, with the fallbacks for the others. */
export function plainSettings(given: GivenSettings): PlainSettings {
  const settings: Record<string, unknown> = {}
  for (const [name, row] of SETTING_ROWS) settings[row.as] = Object.freeze(given[name] ?? fallbackOf(row))
  // The loop has set each name of the type.
  return settings as PlainSettings
}

/** Settings in force, by their names in the catalogue file. */
export type NamedSettings = {
  readonly [N in SettingName]: SettingValue<N> | (Rows[N] extends { readonly fallback: null } ? null : never)
}

export function namedSettings(settings: PlainSettings): NamedSettings {
  const named: Partial<Record<SettingName, unknown>> = {}
  for (const [name, row] of SETTING_ROWS) named[name] = settings[row.as]
  // The loop has set each name of the type.
  return named as NamedSettings
}

function fallbackOf(row: SettingRow): unknown {
  return row.kind === 'numbers' || row.kind === 'texts'
    ? Object.fromEntries(Object.entries(row.fields).map(([name, { fallback }]) => [name, fallback]))
    : row.fallback
}

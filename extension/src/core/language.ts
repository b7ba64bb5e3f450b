/** The editor's words in the person's language: every text that is shown goes through here, with places for values. */

/** A host's translator, such as JupyterLab's translation bundle. `%1` is the first value, and so on. */
export interface Translator {
  __(text: string, ...values: unknown[]): string;
  /** `%1` is the number, values come after it. */
  _n(one: string, many: string, count: number, ...values: unknown[]): string;
}

/** Texts of another language by the English ones; where a number decides, by the names of `Intl.PluralRules`. */
export type Messages = Readonly<Record<string, string | Readonly<Record<string, string>> | undefined>>;

function filled(text: string, values: readonly unknown[]): string {
  return text.replace(/%(%|\d+)/g, (place, which: string) =>
    which === '%' ? '%' : Number(which) <= values.length ? String(values[Number(which) - 1]) : place,
  );
}

function isTag(language: string): boolean {
  return /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/i.test(language);
}

/** A translator for hosts that have none of their own. */
export function translatorOf(messages: Messages, language: string): Translator {
  const rules = new Intl.PluralRules(Intl.PluralRules.supportedLocalesOf(isTag(language) ? language : 'en'));
  return {
    __: (text, ...values) => {
      const found = messages[text];
      return filled(typeof found === 'string' ? found : text, values);
    },
    _n: (one, many, count, ...values) => {
      const found = messages[one];
      const form = typeof found === 'object' ? (found[rules.select(count)] ?? found['other']) : found;
      return filled(form ?? (count === 1 ? one : many), [count.toLocaleString('en'), ...values]);
    },
  };
}

/** Global that a page in another language sets before the editor is loaded, where the host has no translations. */
function messagesOfPage(): Messages {
  return (globalThis as { daliLabMessages?: Messages }).daliLabMessages ?? {};
}

const page = (globalThis as { document?: Document }).document;

let translator: Translator = translatorOf(messagesOfPage(), page?.documentElement.lang ?? '');

/** Sets the language of all texts that are shown from now on. */
export function setTranslator(next: Translator): void {
  translator = next;
}

/** A text in the person's language. */
export function t(text: string, ...values: unknown[]): string {
  return translator.__(text, ...values);
}

/** A text that has another form for one than for many; `%1` is the number. */
export function tn(one: string, many: string, count: number, ...values: unknown[]): string {
  return translator._n(one, many, count, ...values);
}

/** Marks a text of a table for translation; it is translated where it is shown. */
export function msg<T extends string>(text: T): T {
  return text;
}

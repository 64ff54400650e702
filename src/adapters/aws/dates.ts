/** The dates of AWS's responses, and how far the clock of this machine is from them. */

/** A response's date, with the times of this machine before and after it, epoch milliseconds. */
export interface Dated {
  /** The `Date` of the response, in whole seconds. */
  readonly date: number;
  readonly before: number;
  readonly after: number;
}

/** The part of a client that is used here. Each client has its own types. */
export interface DatedClient {
  readonly middlewareStack: object;
}

interface Stack {
  add(
    middleware: (next: Handler) => Handler,
    options: { readonly step: "deserialize"; readonly priority: "low" },
  ): void;
}

type Handler = (call: object) => Promise<{ readonly response: unknown }>;

/**
 * Calls `onDate` with the date of every response of a client. Refusals count too: those of a wrong clock carry a date.
 */
export function tellDates({ middlewareStack }: DatedClient, onDate: (dated: Dated) => void): void {
  (middlewareStack as Stack).add(
    (next) => async (args) => {
      const before = Date.now();
      const result = await next(args);
      const { headers } = result.response as { readonly headers?: Readonly<Record<string, string>> };
      const date = Date.parse(headers?.["date"] ?? "");
      if (!Number.isNaN(date)) onDate({ date, before, after: Date.now() });
      return result;
    },
    // Next to the wire, before the SDK parses the response. It has no name, since several worlds may share a client,
    // and a client refuses a second middleware of the same name.
    { step: "deserialize", priority: "low" },
  );
}

/**
 * The least difference of the clocks in milliseconds; positive: theirs is ahead. 0 if their whole seconds allow no
 * difference.
 */
export function clockGapMs({ date, before, after }: Dated): number {
  const [least, most] = [date - after, date + 999 - before];
  if (least > 0) return least;
  return most < 0 ? most : 0;
}

/** What a provider says, in no provider's own words, and what each provider's wire format must say of it. */

export interface Said {
  readonly reasoning?: string;
  /** The pieces of one text. */
  readonly text?: readonly string[];
  readonly calls?: readonly SaidCall[];
  /** Why it ends; absent: it is complete. */
  readonly end?: "length" | "filter" | "refusal";
  /** The provider's own word for the end, or none, in place of the usual one. */
  readonly word?: string | null;
}

interface SaidCall {
  readonly id: string;
  readonly tool: string;
  /** JSON, in the pieces in which it comes. */
  readonly args: readonly string[];
}

export interface Wire {
  /** The model as an agent names it. */
  readonly model: string;
  readonly secret: string;
  readonly package: string;
  readonly streamType: string;
  /** What cairn must count of the usage that each reply reports. */
  readonly counts: Readonly<Record<string, number>>;
  /** The body of a whole response. */
  readonly whole: (said: Said) => string;
  /** The frames of a streamed response to a request with this body. */
  readonly stream: (said: Said, body?: SentBody) => readonly Frame[];
  /** How many frames follow the last piece of a text that ends a reply. */
  readonly endFrames: number;
  readonly isStream: (path: string, body: SentBody) => boolean;
  /** The body of an error response. */
  readonly refusal: (status: number, message: string) => string;
  /** An error of an overloaded provider within a stream. */
  readonly overloaded: (message: string) => Frame;
  /** Whether the provider passes on arguments that are no JSON, or reports that the call was none. */
  readonly unreadable: "arguments" | "call";
  /** A response in which the model's call cannot be read. */
  readonly malformedCall: () => readonly Frame[];
  /** The header that carries the key, and what it says of it. */
  readonly authorized: readonly [header: string, value: (key: string) => string];
}

export type Frame = string | Uint8Array;
export type SentBody = Readonly<Record<string, unknown>>;

/** A frame of server-sent events. */
export const sse = (payload: object, event?: string): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(payload)}\n\n`;

/** The arguments as an object. A reply that is cut within them has what could be parsed: none. */
export function argsOf({ args }: SaidCall): unknown {
  try {
    return JSON.parse(args.join(""));
  } catch {
    return {};
  }
}

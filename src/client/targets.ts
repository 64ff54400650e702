/** What a client connects to. */

/** An API: that of `cairn serve` or `cairn dev`, or of a deployment. */
export interface ApiTarget {
  /** The URL of the API. */
  readonly api: string;
  /** Sent as a bearer token. A function gives a new one for each request. */
  readonly token?: string | (() => string | Promise<string>);
  /** Replaces the global `fetch`, for example by one that signs requests. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

/** The store of a world: by default the local one in `.cairn`. The process needs the rights of an operator. */
export interface StoreTarget<Known extends object> {
  /** The directory of the local store. */
  readonly store?: string;
  /** The name of a world; its settings come from the environment, as for the command line. */
  readonly world?: string;
  /** The agents that this client may start. Their tasks are checked here. What is no agent is left out. */
  readonly agents?: Known;
  /** The tenant whose runs are started and listed; default `local`. */
  readonly tenant?: string;
  /** Who steers, for the record; default: the name of the user. */
  readonly by?: string;
}

/**
 * A request to a model that is out, as types: it has left or may leave, and no process waits for its reply. A
 * later invocation takes the reply in. What changes the state is in `policy/model-out.ts`.
 */
import type { DetachedCall } from "./detached-call.ts";
import type { WithFiles } from "./file.ts";

/** A user's text that came while the request was out. The request does not contain it, so it follows the reply. */
export interface HeldText extends WithFiles {
  readonly text: string;
  readonly by: string;
}

/** The request that is out, by what it was sent. Closed: `detached` is for the files of model jobs alone. */
export interface ModelOut {
  readonly by: "modelJob";
  readonly detached: DetachedCall;
  readonly held: readonly HeldText[];
}

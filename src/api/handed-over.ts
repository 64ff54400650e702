/**
 * Outcomes that a server takes from the API as they are. A stream asks the API for each of its pages in the same process:
 * as JSON each page would be encoded and parsed again for each reader.
 */
const takers = new WeakMap<Request, (outcome: object) => void>();

/** Sends a request to the API of this process. `outcome`: null if it has none, such as a problem. */
export async function askWithin(
  request: Request,
  ask: (request: Request) => Response | Promise<Response>,
): Promise<{ readonly response: Response; readonly outcome: object | null }> {
  let outcome: object | null = null;
  takers.set(request, (taken) => (outcome = taken));
  const response = await ask(request);
  return { response, outcome };
}

/** The answer to a request with an outcome: empty if its sender takes the outcome itself. */
export function answerWith(request: Request, outcome: object, status: number): Response {
  const take = takers.get(request);
  if (take === undefined) return Response.json(outcome, { status });
  take(outcome);
  return new Response(null, { status });
}

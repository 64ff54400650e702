import { Webhook } from "standardwebhooks";

/** What a queue takes: the ID drops a second copy, such as the `MessageDeduplicationId` of SQS. */
export type Enqueue = (message: { readonly id: string; readonly body: string }) => Promise<unknown>;

/** An endpoint that puts each notification into a queue. `key`: the secret that signs the webhooks. */
export const receiver =
  ({ enqueue, key }: { readonly enqueue: Enqueue; readonly key: string }) =>
  async (request: Request): Promise<Response> => {
    const body = await request.text();
    const headers = Object.fromEntries(request.headers);
    try {
      new Webhook(key).verify(body, headers);
    } catch {
      return new Response("its signature does not fit", { status: 400 });
    }
    await enqueue({ id: headers["webhook-id"] ?? "", body });
    return new Response(null, { status: 204 }); // now the queue has it: any other answer is sent again
  };

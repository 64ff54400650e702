/** Requests that a run pauses, resumes or ends. */
import { sendRequest } from "../engine/loop/request.ts";
import type { World } from "../ports/world.ts";
import type { Request } from "../protocol/row.ts";

export interface ChangeRequested {
  readonly kind: Awaited<ReturnType<typeof sendRequest>>;
}

export const requestChange = async (world: World, wanted: Pick<Request, "run" | "want">): Promise<ChangeRequested> => ({
  kind: await sendRequest(world, wanted),
});

/** The authenticator that the configuration names. */
import type { World } from "../../ports/world.ts";
import type { AccessOptions } from "../../sdk/access.ts";
import { tokenAuthenticator } from "./bearer.ts";
import type { Authenticate } from "./caller.ts";
import { jwtAuthenticator } from "./jwt.ts";

/** Null: what stands in front of the app identifies its callers, as API Gateway does by IAM. */
export function authenticatorOf(world: World, { auth, jwt }: AccessOptions): Authenticate | null {
  if (auth === "jwt" && jwt !== undefined) return jwtAuthenticator(world, jwt);
  return auth === "token" ? tokenAuthenticator(world) : null;
}

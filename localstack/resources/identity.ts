/** Roles and their policies. LocalStack stores them and does not enforce them. */
import {
  AttachRolePolicyCommand,
  CreateRoleCommand,
  GetRoleCommand,
  PutRolePolicyCommand,
  UpdateAssumeRolePolicyCommand,
} from "@aws-sdk/client-iam";
import * as z from "zod";
import { found, kind, policy } from "../kind.ts";

export const role = kind(
  z.strictObject({
    name: z.string().optional(),
    assumeRolePolicy: policy,
    inlinePolicies: z.array(z.strictObject({ name: z.string(), policy })).default([]),
    managedPolicyArns: z.array(z.string()).default([]),
  }),
  async (inputs, { clients: { roles }, name, prefix }) => {
    const { name: RoleName = `${prefix}-${name}`, assumeRolePolicy: document } = inputs;
    const known = await found(roles.send(new GetRoleCommand({ RoleName })), "NoSuchEntityException");
    if (known === null) await roles.send(new CreateRoleCommand({ RoleName, AssumeRolePolicyDocument: document }));
    else await roles.send(new UpdateAssumeRolePolicyCommand({ RoleName, PolicyDocument: document }));
    for (const inline of inputs.inlinePolicies) {
      const PolicyName = inline.name;
      await roles.send(new PutRolePolicyCommand({ RoleName, PolicyName, PolicyDocument: inline.policy }));
    }
    for (const PolicyArn of inputs.managedPolicyArns) {
      await roles.send(new AttachRolePolicyCommand({ RoleName, PolicyArn }));
    }
    return { name: RoleName, id: RoleName };
  },
);

export const rolePolicy = kind(
  z.strictObject({ name: z.string(), role: z.string(), policy }),
  async ({ name, role: RoleName, policy: PolicyDocument }, { clients: { roles } }) => {
    await roles.send(new PutRolePolicyCommand({ RoleName, PolicyName: name, PolicyDocument }));
    return {};
  },
);

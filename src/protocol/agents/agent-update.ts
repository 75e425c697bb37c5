import { z } from "zod";
import { imageReference } from "../apps/app-fields.ts";
import { deliveryOptionFields, deployOptionFields } from "../apps/deploy-request.ts";

/** The app's name in the record of a deployment that updates the agent itself. */
export const AGENT_APP = "edge-agent";

export const agentVersionSchema = z
  .string()
  .regex(/^\d[\dA-Za-z.+~]{0,63}$/, "must be a version of edge-agent, such as 1.5.0")
  .meta({ description: "Version of a release that the service serves.", examples: ["1.5.0"] });

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

/** Which older or refused releases are wanted all the same. */
const consent = {
  downgrade: z
    .boolean()
    .exactOptional()
    .meta({ description: "Also to an older version, if the device's configuration allows that." }),
  again: z
    .boolean()
    .exactOptional()
    .meta({ description: "Also to a version that the device has tried before and set aside." }),
};

/**
 * What the device is asked to run. Exactly one of `image` and `served` is there: a release in any registry, or one that
 * the service itself serves by the registry's protocol, at the address the device connects to.
 */
export const agentUpdateSchema = z.object({
  image: imageReference.exactOptional(),
  served: z
    .object({
      /** Path of the repository below `/v2/` of the service. */
      repository: z
        .string()
        .regex(/^[a-z0-9]+(?:[._/-][a-z0-9]+)*$/)
        .max(200),
      /** Digest of the release's index. */
      digest,
    })
    .exactOptional(),
  /** The version that was asked for; absent for an image, which says it itself. */
  version: agentVersionSchema.exactOptional(),
  ...consent,
});
export type AgentUpdate = z.output<typeof agentUpdateSchema>;

/** Body of a request that updates the agent. */
export const agentUpdateRequestSchema = z
  .strictObject({
    version: agentVersionSchema.exactOptional(),
    image: imageReference.exactOptional().meta({
      description: "A release in a registry: an image index, with its signature as a referrer.",
    }),
    ...consent,
    ...deployOptionFields,
    ...deliveryOptionFields,
  })
  .refine(({ version, image }) => (version === undefined) !== (image === undefined), "needs either version or image")
  .meta({ id: "AgentUpdateRequest", examples: [{ image: "registry.example.com/team/edge-agent:1.5.0" }] });

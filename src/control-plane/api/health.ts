import { z } from "zod";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { Api, ApiContext } from "./context.ts";
import { logStoreError } from "../store/unavailable.ts";
import { json, publicErrors } from "./docs/responses.ts";

const okSchema = z.object({
  status: z.literal("ok").meta({ description: "Always `ok`; a failed check is an error." }),
});

const clockSchema = z
  .object({
    jumped_by_s: z.int().meta({ description: "By how much; negative: back." }),
    records_follow_in_s: z.int().meta({ description: "Until new records are dated by it; 0: they are." }),
    deletions_follow_in_s: z.int().meta({ description: "Until what is old is deleted by it." }),
  })
  .meta({
    description:
      "The time of day has jumped, or was far from that of the last run when the service started, and is not believed yet: " +
      "nothing is deleted or expires by it. Absent otherwise.",
  });

const readySchema = okSchema.extend({
  bus: z
    .enum(["up", "down"])
    .optional()
    .meta({
      description:
        "Whether this instance can reach others through NATS. While it is `down`, deployments go on with short pauses, and " +
        "devices of other instances cannot be asked. Absent without NATS.",
    }),
  clock_jump: clockSchema.optional(),
});

const DOCUMENTATION = { tags: ["Health"], security: [] };

/** `GET /healthz`: the process runs. `GET /readyz`: it can serve requests; 503 while it cannot or is stopping. */
export function health(api: Api, { store, clock, logger, instance }: ApiContext<"instance">): void {
  api.get(
    "/healthz",
    {
      schema: {
        ...DOCUMENTATION,
        operationId: "healthz",
        summary: "The process runs",
        description: "For supervisors: the process answers. Nothing else is asked.",
        response: { 200: json("The check passed.", okSchema), ...publicErrors() },
      },
    },
    async () => ({ status: "ok" as const }),
  );
  api.get(
    "/readyz",
    {
      schema: {
        ...DOCUMENTATION,
        operationId: "readyz",
        summary: "The service can serve requests",
        description:
          "For load balancers: 503 while the database does not respond, and from the moment on at which the service is told to stop.",
        response: { 200: json("The check passed.", readySchema), ...publicErrors() },
      },
    },
    async () => {
      if (instance.leaving.aborted) throw new EdgeError("ServiceUnavailable", "The service is stopping.");
      try {
        await store.check();
      } catch (error) {
        logStoreError(logger, error, {}, "the store does not respond");
        throw new EdgeError("ServiceUnavailable", "The database does not respond.");
      }
      const jump = clock.unbelievedJump?.();
      return {
        status: "ok" as const,
        ...(instance.bus.state !== "local" && { bus: instance.bus.state }),
        ...(jump && {
          clock_jump: {
            jumped_by_s: Math.round(jump.ms / 1000),
            records_follow_in_s: Math.ceil(jump.recordsInMs / 1000),
            deletions_follow_in_s: Math.ceil(jump.deletionsInMs / 1000),
          },
        }),
      };
    },
  );
}

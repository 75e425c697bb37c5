import { z } from "zod";
import { EdgeError } from "../../protocol/errors.ts";
import type { Api, ApiContext } from "./context.ts";
import { errors, json } from "./docs/responses.ts";

const okSchema = z.object({
  status: z.literal("ok").meta({ description: "Always `ok`; a failed check is an error." }),
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
});

const DOCUMENTATION = { tags: ["Health"], security: [] };

/** `GET /healthz`: the process runs. `GET /readyz`: it can serve requests; 503 while it cannot or is stopping. */
export function health(api: Api, { store, bus, leaving, logger }: ApiContext): void {
  api.get(
    "/healthz",
    {
      schema: {
        ...DOCUMENTATION,
        operationId: "healthz",
        summary: "The process runs",
        response: { 200: json("The check passed.", okSchema), ...errors() },
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
        response: { 200: json("The check passed.", readySchema), ...errors() },
      },
    },
    async () => {
      if (leaving.aborted) throw new EdgeError("ServiceUnavailable", "The service is stopping.");
      try {
        await store.check();
      } catch (error) {
        logger.error({ err: error }, "the store does not respond");
        throw new EdgeError("ServiceUnavailable", "The database does not respond.");
      }
      return { status: "ok" as const, ...(bus.state !== "local" && { bus: bus.state }) };
    },
  );
}

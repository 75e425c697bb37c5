import { z } from "zod";
import { EdgeError } from "../../protocol/errors.ts";
import type { Api, ApiContext } from "./context.ts";
import { logStoreError } from "../store/unavailable.ts";
import { errors, json } from "./docs/responses.ts";

const okSchema = z.object({
  status: z.literal("ok").meta({ description: "Always `ok`; a failed check is an error." }),
});

const DOCUMENTATION = {
  tags: ["Health"],
  security: [],
  response: { 200: json("The check passed.", okSchema), ...errors() },
};

/** `GET /healthz`: the process runs. `GET /readyz`: it can serve requests; 503 while it cannot or is stopping. */
export function health(api: Api, { store, leaving, logger }: ApiContext): void {
  api.get(
    "/healthz",
    { schema: { ...DOCUMENTATION, operationId: "healthz", summary: "The process runs" } },
    async () => ({ status: "ok" as const }),
  );
  api.get(
    "/readyz",
    { schema: { ...DOCUMENTATION, operationId: "readyz", summary: "The service can serve requests" } },
    async () => {
      if (leaving.aborted) throw new EdgeError("ServiceUnavailable", "The service is stopping.");
      try {
        await store.check();
      } catch (error) {
        logStoreError(logger, error, {}, "the store does not respond");
        throw new EdgeError("ServiceUnavailable", "The database does not respond.");
      }
      return { status: "ok" as const };
    },
  );
}

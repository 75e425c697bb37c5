import { buildServer } from "../../src/control-plane/api/build-server.ts";
import type { ApiContext } from "../../src/control-plane/api/context.ts";
import { configSchema } from "../../src/control-plane/config/config.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createLogger } from "../../src/lib/logger.ts";

/** Returns the OpenAPI document of the service. */
export async function openApiDocument(): Promise<unknown> {
  // No request is served: what handlers use is never called.
  const unused: object = new Proxy({}, { get: () => unused });
  const never = new AbortController().signal;
  const context: Readonly<Record<PropertyKey, unknown>> = {
    config: configSchema.parse({}),
    clock: systemClock,
    logger: await createLogger({ name: "docs", level: "fatal" }),
    counts: undefined,
    observer: undefined,
    leaving: never,
    stopping: never,
  };
  const anyContext = new Proxy(context, { get: (known, key) => (key in known ? known[key] : unused) });
  const api = await buildServer(anyContext as unknown as ApiContext);
  try {
    await api.ready();
    return api.swagger();
  } finally {
    await api.close();
  }
}

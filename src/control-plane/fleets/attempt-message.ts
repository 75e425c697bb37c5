import { z } from "zod";
import type { DeploymentEvent } from "../../protocol/deployments/deployment-event.ts";
import { sanitizedLine } from "../../protocol/values/sanitized-text.ts";

const name = sanitizedLine(255);

/** What a device says of a host port that its app cannot have. */
const portDetailsSchema = z.object({
  app: name.optional(),
  host_port: z.int(),
  protocol: z.string().optional(),
  holder: z.object({ kind: z.string(), name: name.optional(), pid: z.int().optional() }).optional().catch(undefined),
});
type PortHolder = NonNullable<z.output<typeof portDetailsSchema>["holder"]>;

/**
 * Returns what an event says, for people who do not see its details. The message of a port that is in use, or out of the range, is a
 * fixed one: which app asks for which port, and what has it, is in the details alone.
 */
export function attemptMessage({ message, code, details }: DeploymentEvent): string {
  if (code !== "ErrorPortInUse" && code !== "ErrorNodePortIsNotCorrectRange") return message;
  const parsed = portDetailsSchema.safeParse(details);
  if (!parsed.success) return message;
  const { app, host_port: port, protocol, holder } = parsed.data;
  const what = `port ${port}${protocol === "udp" ? "/udp" : ""}${holder ? `, ${describeHolder(holder)}` : ""}`;
  return app === undefined ? `${message} It is ${what}.` : `${message} App ${app}: ${what}.`;
}

function describeHolder({ kind, name: holder, pid }: PortHolder): string {
  switch (kind) {
    case "app":
    case "container":
      return `which the ${kind}${holder === undefined ? "" : ` ${holder}`} has`;
    case "deployment":
      return `for which a deployment${holder === undefined ? "" : ` of ${holder}`} is under way`;
    case "request":
      return "which it asks for twice";
    default:
      return holder === undefined
        ? "which another process has"
        : `which the process ${holder}${pid === undefined ? "" : ` (pid ${pid})`} has`;
  }
}

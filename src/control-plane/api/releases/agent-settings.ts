import { type AgentSettings, agentSettingsSchema } from "../../../protocol/agents/agent-release.ts";
import { accountOf } from "../auth.ts";
import {
  changeResource,
  ifMatchHeaders,
  preconditionOf,
  type Resource,
  sendResource,
  stateOf,
} from "../conditional-requests.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { auditOf } from "../people/audit-entry.ts";

const PATH = "/v1/agent-settings";
const SETTINGS = json("The settings.", agentSettingsSchema);

/** `GET /v1/agent-settings`: who may update agents. */
export function getAgentSettings(api: Api, { store }: ApiContext): void {
  api.get(
    PATH,
    {
      schema: {
        operationId: "getAgentSettings",
        summary: "Get Agent Settings",
        description: "Whether operators may update the agents of the account, by themselves and with fleets.",
        tags: ["Devices"],
        response: { 200: SETTINGS, ...errors() },
      },
    },
    async (request, reply): Promise<AgentSettings> =>
      sendResource(reply, toSettings(await store.accounts.readOperatorsUpdateAgents(accountOf(request)))),
  );
}

/** `PATCH /v1/agent-settings`: changes them. */
export function changeAgentSettings(api: Api, { store, clock }: ApiContext): void {
  api.patch(
    PATH,
    {
      schema: {
        operationId: "changeAgentSettings",
        summary: "Change Agent Settings",
        description:
          "Changes the settings of the account. Requests that were accepted go on. Devices install only releases that one of their " +
          "keys has signed.",
        tags: ["Devices"],
        headers: ifMatchHeaders,
        body: agentSettingsSchema,
        response: { 200: SETTINGS, ...errorsWithBody("PreconditionFailed") },
      },
    },
    async (request, reply): Promise<AgentSettings> => {
      const accountId = accountOf(request);
      const { operators_update } = request.body;
      const details = { fields: ["operators_update"], operators_update };
      const entry = auditOf(request, clock, { action: "settings.changed", details });
      const present = async () => toSettings(await store.accounts.readOperatorsUpdateAgents(accountId));
      const precondition = preconditionOf(request, (current: boolean) => toSettings(current).state);
      await changeResource(reply, present, () =>
        store.accounts.setOperatorsUpdateAgents(accountId, operators_update, entry, precondition),
      );
      return sendResource(reply, toSettings(operators_update));
    },
  );
}

function toSettings(mayUpdate: boolean): Resource<AgentSettings> {
  return { state: stateOf(mayUpdate), body: { operators_update: mayUpdate } };
}

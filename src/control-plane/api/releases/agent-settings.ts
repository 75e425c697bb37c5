import type { Store } from "../../store/store.ts";
import { type AccountSetting, changeSetting } from "../account/change-setting.ts";
import { type AgentSettings, agentSettingsSchema } from "../../../protocol/agents/agent-release.ts";
import { accountOf } from "../auth.ts";
import { ifMatchHeaders, type Resource, sendResource, stateOf } from "../conditional-requests.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";

const PATH = "/v1/agent-settings";
const SETTINGS = json("The settings.", agentSettingsSchema);

/** `GET /v1/agent-settings`: who may update agents. */
export function getAgentSettings(api: Api, { store }: ApiBase): void {
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
export function changeAgentSettings(api: Api, { store, clock }: ApiBase): void {
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
    (request, reply): Promise<AgentSettings> =>
      changeSetting(request, reply, clock, settingOf(store), {
        value: request.body.operators_update,
        details: request.body,
      }),
  );
}

function settingOf({ accounts }: Pick<Store, "accounts">): AccountSetting<boolean, AgentSettings> {
  return {
    read: (accountId) => accounts.readOperatorsUpdateAgents(accountId),
    set: (...change) => accounts.setOperatorsUpdateAgents(...change),
    toResource: toSettings,
  };
}

function toSettings(mayUpdate: boolean): Resource<AgentSettings> {
  return { state: stateOf(mayUpdate), body: { operators_update: mayUpdate } };
}

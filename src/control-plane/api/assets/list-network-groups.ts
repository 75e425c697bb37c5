import { DEFAULT_NETWORK_GROUPS, type NetworkGroupList, networkGroupListSchema } from "../../../protocol/assets/sim.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";

/** `GET /v1/network-groups`: the network groups that a Super SIM of the account may be in. */
export function listNetworkGroups(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/network-groups",
    {
      schema: {
        operationId: "listNetworkGroups",
        summary: "Get Network Groups",
        description:
          "The network groups that a Super SIM of the account may be in: those of every account, and its own.",
        tags: ["Assets"],
        response: { 200: json("The network groups.", networkGroupListSchema), ...errors() },
      },
    },
    async (request): Promise<NetworkGroupList> => {
      const own = await store.networkGroups.listNetworkGroups(accountOf(request));
      const defaults = DEFAULT_NETWORK_GROUPS.map((name) => ({ name, default: true }));
      return { network_groups: [...defaults, ...own.map((name) => ({ name, default: false }))] };
    },
  );
}

import { Box, Checkbox, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { AgentSettings } from "../../../protocol/api-types.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Form } from "../../parts/form.tsx";
import { Loaded } from "../../parts/loaded.tsx";

/** Whether operators may update agents, for the whole account. */
export function AgentUpdateSettings(): ReactNode {
  const settings = useQuery({
    queryKey: KEYS.agentSettings,
    queryFn: ({ signal }) => call("GET /v1/agent-settings", { signal }),
  });
  return (
    <Box component="section" aria-labelledby="agent-updates" mt="xl" maw="40rem">
      <Title order={2} id="agent-updates" mb="xs">
        Updates of agents
      </Title>
      <Loaded query={settings}>{(data) => <Change key={String(data.operators_update)} {...data} />}</Loaded>
    </Box>
  );
}

function Change({ operators_update: before }: AgentSettings): ReactNode {
  const [isAllowed, setAllowed] = useState(before);
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: () => call("PATCH /v1/agent-settings", { body: { operators_update: isAllowed } }),
    onSuccess: (settings) => client.setQueryData(KEYS.agentSettings, settings),
  });
  return (
    <Form
      action="Save"
      isPending={change.isPending}
      error={change.error}
      canSubmit={isAllowed !== before}
      onSubmit={() => change.mutate()}
    >
      <Checkbox
        label="Operators may update agents"
        description="By themselves and with fleets, as admins do. A device installs only releases that one of its keys has signed."
        checked={isAllowed}
        onChange={({ currentTarget }) => setAllowed(currentTarget.checked)}
      />
    </Form>
  );
}

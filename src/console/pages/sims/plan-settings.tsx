import { useMutation, useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import type { DataPlanSettings } from "../../../protocol/api-types.ts";
import { Box, NativeSelect, Text, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { usePermission } from "../../api/session.ts";
import { Form } from "../../parts/form.tsx";
import { Loaded } from "../../parts/loaded.tsx";

/** The account's settings of data plans. */
export function usePlanSettings(enabled = true): UseQueryResult<DataPlanSettings> {
  return useQuery({
    queryKey: KEYS.dataPlanSettings,
    queryFn: ({ signal }) => call("GET /v1/data-plan-settings", { signal }),
    enabled,
  });
}

type Effect = DataPlanSettings["deployments"];

const EFFECTS: Readonly<Record<Effect, { readonly label: string; readonly text: string }>> = {
  ignore: { label: "Carry them out", text: "A used-up allowance is shown, and holds nothing back." },
  wait: {
    label: "Let them wait",
    text: "They wait until the next month, a larger allowance, or another setting here.",
  },
  urgent: { label: "Refuse them, unless urgent", text: "They fail at once with DataBudgetExceeded." },
};

/** What becomes of deployments to an asset whose allowance is used up, for the whole account. */
export function PlanSettings(): ReactNode {
  const settings = usePlanSettings();
  const mayChange = usePermission("settings.manage");
  return (
    <Box component="section" aria-labelledby="plan-settings" maw="40rem">
      <Title order={2} id="plan-settings" mb="xs">
        Deployments when an allowance is used up
      </Title>
      <Text size="sm" mb="xs">
        For all assets of the account: what becomes of deployments, updates and rollouts to an asset of which an active
        SIM has used up its monthly allowance. One that is urgent is carried out in any case.
      </Text>
      <Loaded query={settings}>
        {({ deployments }) =>
          mayChange ? (
            <Change key={deployments} deployments={deployments} />
          ) : (
            <Text size="sm">
              <strong>{EFFECTS[deployments].label}.</strong> {EFFECTS[deployments].text}
            </Text>
          )
        }
      </Loaded>
    </Box>
  );
}

function Change({ deployments }: DataPlanSettings): ReactNode {
  const [chosen, setChosen] = useState(deployments);
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: () => call("PATCH /v1/data-plan-settings", { body: { deployments: chosen } }),
    onSuccess: (settings) => client.setQueryData(KEYS.dataPlanSettings, settings),
  });
  return (
    <Form
      action="Save"
      isPending={change.isPending}
      error={change.error}
      canSubmit={chosen !== deployments}
      onSubmit={() => change.mutate()}
    >
      <NativeSelect
        label="Deployments"
        description={EFFECTS[chosen].text}
        inputWrapperOrder={["label", "input", "description", "error"]}
        data={Object.entries(EFFECTS).map(([value, { label }]) => ({ value, label }))}
        value={chosen}
        onChange={({ currentTarget }) => setChosen(currentTarget.value as Effect)}
      />
    </Form>
  );
}

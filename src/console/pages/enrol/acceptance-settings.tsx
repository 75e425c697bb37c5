import { Box, Checkbox, Text, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import type { EnrolmentSettings } from "../../api/types.ts";
import { Form } from "../../parts/form.tsx";
import { Loaded } from "../../parts/loaded.tsx";

/** Whether new devices are accepted by themselves, for the whole account. Shown to those who may change it. */
export function AcceptanceSettings(): ReactNode {
  const mayChange = usePermission("settings.manage");
  const settings = useQuery({
    queryKey: KEYS.enrolmentSettings,
    queryFn: ({ signal }) => call("GET /v1/enrolment-settings", { signal }),
    enabled: mayChange,
  });
  if (!mayChange) return null;
  return (
    <Box component="section" aria-labelledby="acceptance" mt="xl">
      <Title order={2} id="acceptance" mb="xs">
        Acceptance of devices
      </Title>
      <Loaded query={settings}>{(data) => <Change key={String(data.auto_accept)} {...data} />}</Loaded>
    </Box>
  );
}

function Change({ auto_accept: before }: EnrolmentSettings): ReactNode {
  const [isAutomatic, setAutomatic] = useState(before);
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: () => call("PATCH /v1/enrolment-settings", { body: { auto_accept: isAutomatic } }),
    onSuccess: (settings) => client.setQueryData(KEYS.enrolmentSettings, settings),
  });
  return (
    <Form
      action="Save"
      isPending={change.isPending}
      error={change.error}
      canSubmit={isAutomatic !== before}
      onSubmit={() => change.mutate()}
    >
      <Text size="sm">
        A device that is new, or takes the place of another one, gets nothing of a fleet's before a person with the role
        operator has accepted it.
      </Text>
      <Checkbox
        label="Accept devices automatically"
        description="Everybody who may register an asset, or has an enrolment code, can then have what fleets deliver to such an asset, with values that are secret. For devices that come into service untouched."
        checked={isAutomatic}
        onChange={({ currentTarget }) => setAutomatic(currentTarget.checked)}
      />
    </Form>
  );
}

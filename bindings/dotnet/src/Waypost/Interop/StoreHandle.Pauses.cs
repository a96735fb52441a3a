// SPDX-License-Identifier: Apache-2.0
namespace Waypost.Interop;

internal sealed unsafe class PausesHandle : Handle
{
    protected override void Free(nint pointer) => Native.wp_pauses_free(pointer);

    public PausedTopic[] Read(wp_source queue)
    {
        var topics = new List<PausedTopic>();
        for (nuint i = 0; i < Native.wp_pauses_count(this); i++)
            if (Native.wp_pauses_source(this, i) == queue)
                topics.Add(new PausedTopic(
                    Utf8.Text(Native.wp_pauses_topic(this, i)),
                    Times.FromUs(Native.wp_pauses_since_us(this, i)),
                    Utf8.OptionalText(Native.wp_pauses_by(this, i))));
        return topics.ToArray();
    }
}

/// <summary>Paused topics.</summary>
internal sealed unsafe partial class StoreHandle
{
    public bool TopicPause(wp_source queue, bool resumes, string topic, string? by)
    {
        nint error = 0;
        int changed = 0;
        fixed (byte* name = Utf8.Name(nameof(topic), topic), who = Utf8.OptionalName(nameof(by), by))
            Failure.Check(
                resumes ? Native.wp_topic_resume(&changed, this, 0, queue, name, who, &error)
                        : Native.wp_topic_pause(&changed, this, 0, queue, name, who, &error), error);
        return changed != 0;
    }

    public OperationHandle TopicPauseOperation(wp_source queue, bool resumes, string topic, string? by)
    {
        nint error = 0;
        OperationHandle operation;
        fixed (byte* name = Utf8.Name(nameof(topic), topic), who = Utf8.OptionalName(nameof(by), by))
            Failure.Check(
                resumes ? Native.wp_topic_resume_op(out operation, this, queue, name, who, &error)
                        : Native.wp_topic_pause_op(out operation, this, queue, name, who, &error), error);
        return operation;
    }

    public PausedTopic[] PausedTopics(wp_source queue)
    {
        nint error = 0;
        Failure.Check(Native.wp_pauses_read(out PausesHandle pauses, this, &error), error);
        using (pauses)
            return pauses.Read(queue);
    }
}

import java.util.Map;

/** The fields of a request. */
final class Fields {
    private final Map<String, String> values;

    Fields(Map<String, String> values) {
        this.values = values;
    }

    String text(String key) {
        return values.getOrDefault(key, "");
    }

    int number(String key) {
        return Integer.parseInt(values.getOrDefault(key, "0"));
    }
}
